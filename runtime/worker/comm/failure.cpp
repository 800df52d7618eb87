// Classification of torch's exceptions. torch throws few types, so most failures are recognised by
// the words of the library that failed. Each row of the table quotes the macro of torch that
// produces the text; check them when torch is updated (failure_test.cpp has full messages).

#include "runtime/worker/comm/failure.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

#include "runtime/worker/comm/rendezvous.h"

namespace expc::comm {
namespace {

/// The code of cudaErrorMemoryAllocation in an AcceleratorError.
constexpr int kCudaOutOfMemory = 2;

/// Words that show a kind of failure.
struct Sign {
  std::string_view text;
  Failure failure;
};

/// The first row that is found decides: lack of memory comes before the library that ran out of it.
constexpr Sign kSigns[] = {
    // From C10_CUDA_CHECK, when the exception has lost its code.
    {"CUDA error: out of memory", Failure::DeviceMemory},
    // From TORCH_CUDABLAS_CHECK: "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling
    // `cublasCreate(handle)`".
    {"CUBLAS_STATUS_ALLOC_FAILED", Failure::DeviceMemory},
    // From AT_CUDNN_CHECK: "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"; cuDNN 9 has finer ones.
    {"CUDNN_STATUS_ALLOC_FAILED", Failure::DeviceMemory},
    {"CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", Failure::DeviceMemory},
    {"CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", Failure::HostMemory},
    // From C10D_NCCL_CHECK, whose last line is NCCL's last error.
    {"Failed to CUDA host alloc", Failure::HostMemory},
    {"Failed to CUDA calloc", Failure::DeviceMemory},
    {"Failed to CUDA malloc", Failure::DeviceMemory},
    {"Cuda failure 2 'out of memory'", Failure::DeviceMemory},
    {"Cuda failure 'out of memory'", Failure::DeviceMemory},
    // From torch's CPU allocator, when posix_memalign fails.
    {"DefaultCPUAllocator: can't allocate memory", Failure::HostMemory},
    {"DefaultCPUAllocator: not enough memory", Failure::HostMemory},
    // The reducer talks to other ranks inside the backward pass; its exceptions have no type of
    // their own.
    {"gloo", Failure::OtherRanks},
    {"NCCL error", Failure::OtherRanks},
    {"NCCL timeout", Failure::OtherRanks},
    {"NCCL communicator was aborted", Failure::OtherRanks},
    {"Connection closed by peer", Failure::OtherRanks},
    {"Connection reset by peer", Failure::OtherRanks},
};

/// The message of an exception, without the frames of its origin.
const char* wordsOf(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  return torch ? torch->what_without_backtrace() : error.what();
}

}  // namespace

std::string firstLineOf(const std::exception& error) {
  const std::string_view text(wordsOf(error));
  const auto line = [&](size_t from) { return std::string(text.substr(from, text.find('\n', from) - from)); };
  // torch appends NCCL's own last error, which says more than the code in the first line.
  constexpr std::string_view kNcclsOwn = "\nLast error:\n";
  const size_t own = text.find(kNcclsOwn);
  const std::string words = own == std::string_view::npos ? "" : line(own + kNcclsOwn.size());
  return words.empty() ? line(0) : line(0) + ": " + words;
}

Failure failureOf(const std::exception& error) {
  // Types first; the words of a typed exception could mislead.
  if (dynamic_cast<const std::bad_alloc*>(&error)) return Failure::HostMemory;
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error)) return Failure::DeviceMemory;
  if (dynamic_cast<const CommError*>(&error)) return Failure::OtherRanks;
  if (const auto* accelerator = dynamic_cast<const c10::AcceleratorError*>(&error))
    return accelerator->get_error_code() == kCudaOutOfMemory ? Failure::DeviceMemory : Failure::Device;
  const std::string_view text(wordsOf(error));
  for (const Sign& sign : kSigns)
    if (text.find(sign.text) != std::string_view::npos) return sign.failure;
  return Failure::Other;
}

}  // namespace expc::comm
