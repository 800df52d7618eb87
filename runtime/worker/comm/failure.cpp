#include "runtime/worker/comm/failure.h"

#include <c10/util/Exception.h>

#include <new>
#include <string_view>

#include "runtime/worker/comm/rendezvous.h"

namespace expc::comm {
namespace {

/// cudaErrorMemoryAllocation, in an AcceleratorError.
constexpr int kCudaOutOfMemory = 2;

struct Sign {
  std::string_view text;
  Failure failure;
};

/// The first that is found in what an exception says decides: memory comes before the library that was short of it.
constexpr Sign kSigns[] = {
    // C10_CUDA_CHECK, where the code does not come through.
    {"CUDA error: out of memory", Failure::DeviceMemory},
    // TORCH_CUDABLAS_CHECK: "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`".
    {"CUBLAS_STATUS_ALLOC_FAILED", Failure::DeviceMemory},
    // AT_CUDNN_CHECK: "cuDNN error: CUDNN_STATUS_ALLOC_FAILED"; cuDNN 9 has finer ones.
    {"CUDNN_STATUS_ALLOC_FAILED", Failure::DeviceMemory},
    {"CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", Failure::DeviceMemory},
    {"CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED", Failure::HostMemory},
    // C10D_NCCL_CHECK: the last line is NCCL's last error.
    {"Failed to CUDA host alloc", Failure::HostMemory},
    {"Failed to CUDA calloc", Failure::DeviceMemory},
    {"Failed to CUDA malloc", Failure::DeviceMemory},
    {"Cuda failure 2 'out of memory'", Failure::DeviceMemory},
    {"Cuda failure 'out of memory'", Failure::DeviceMemory},
    // posix_memalign failed.
    {"DefaultCPUAllocator: can't allocate memory", Failure::HostMemory},
    {"DefaultCPUAllocator: not enough memory", Failure::HostMemory},
    // The reducer talks to the other ranks inside the backward pass; what it throws there has no type of its own.
    {"gloo", Failure::OtherRanks},
    {"NCCL error", Failure::OtherRanks},
    {"NCCL timeout", Failure::OtherRanks},
    {"NCCL communicator was aborted", Failure::OtherRanks},
    {"Connection closed by peer", Failure::OtherRanks},
    {"Connection reset by peer", Failure::OtherRanks},
};

/// What an exception says, without the frames of its origin.
const char* wordsOf(const std::exception& error) {
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  return torch ? torch->what_without_backtrace() : error.what();
}

}  // namespace

std::string firstLineOf(const std::exception& error) {
  const std::string_view text(wordsOf(error));
  const auto line = [&](size_t from) { return std::string(text.substr(from, text.find('\n', from) - from)); };
  constexpr std::string_view kNcclsOwn = "\nLast error:\n";
  const size_t own = text.find(kNcclsOwn);
  const std::string words = own == std::string_view::npos ? "" : line(own + kNcclsOwn.size());
  return words.empty() ? line(0) : line(0) + ": " + words;
}

Failure failureOf(const std::exception& error) {
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
