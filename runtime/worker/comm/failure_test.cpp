// The texts are those of torch 2.11, NCCL 2.28 and cuDNN 9, as their macros compose them.

#include "runtime/worker/comm/failure.h"

#include <c10/util/Exception.h>
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>

#include "runtime/worker/comm/communicator.h"

using namespace expc::comm;

namespace {

Failure ofText(const std::string& text) { return failureOf(c10::Error({__func__, __FILE__, __LINE__}, text)); }

}  // namespace

TEST_CASE("types and codes decide before words") {
  const c10::SourceLocation here{__func__, __FILE__, __LINE__};
  CHECK(failureOf(std::bad_alloc()) == Failure::HostMemory);
  CHECK(failureOf(c10::OutOfMemoryError(here, "CUDA out of memory. Tried to allocate 20.00 GiB.")) ==
        Failure::DeviceMemory);
  CHECK(failureOf(c10::AcceleratorError(
            here, 2, "CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation'")) == Failure::DeviceMemory);
  CHECK(failureOf(c10::AcceleratorError(here, 719, "CUDA error: unspecified launch failure in NCCL")) ==
        Failure::Device);
  CHECK(failureOf(CommError("rank 0 of 2 lost the others in a barrier: out of memory there")) == Failure::OtherRanks);
}

TEST_CASE("memory that libraries of CUDA are short of is known by their words") {
  CHECK(ofText("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported") ==
        Failure::DeviceMemory);
  CHECK(ofText("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`") == Failure::DeviceMemory);
  CHECK(ofText("cuDNN error: CUDNN_STATUS_ALLOC_FAILED") == Failure::DeviceMemory);
  CHECK(ofText("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED") == Failure::DeviceMemory);
  CHECK(ofText("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED") == Failure::HostMemory);
  const std::string nccl =
      "NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, unhandled cuda error (run with "
      "NCCL_DEBUG=INFO for details), NCCL version 2.28.9\nncclUnhandledCudaError: Call to CUDA function failed.\n"
      "Last error:\n";
  CHECK(ofText(nccl + "Failed to CUDA calloc async 10485760 bytes") == Failure::DeviceMemory);
  CHECK(ofText(nccl + "Cuda failure 2 'out of memory'") == Failure::DeviceMemory);
  CHECK(ofText(nccl + "Failed to CUDA host alloc 4096 bytes") == Failure::HostMemory);
  CHECK(ofText(nccl + "Cuda failure 700 'an illegal memory access was encountered'") == Failure::OtherRanks);
}

TEST_CASE("the host's memory, other ranks, and the rest") {
  CHECK(ofText("[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to "
               "allocate 40000000000 bytes. Error code 12 (Cannot allocate memory)") == Failure::HostMemory);
  CHECK(ofText("[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:52345") ==
        Failure::OtherRanks);
  CHECK(ofText("NCCL communicator was aborted on rank 1.") == Failure::OtherRanks);
  CHECK(ofText("mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)") == Failure::Other);
  CHECK(ofText("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED") == Failure::Other);
  CHECK(failureOf(std::runtime_error("expected at least one batch")) == Failure::Other);
  CHECK(failureOf(std::runtime_error("this worker is built for NCCL 2.28.9, but the system loaded 2.27.3")) ==
        Failure::Other);
}

TEST_CASE("a reader gets the first line, without frames") {
  const c10::Error error({__func__, __FILE__, __LINE__}, "the first line\nthe second");
  CHECK(firstLineOf(error) == "the first line");
  CHECK(firstLineOf(std::runtime_error("only one")) == "only one");
  CHECK(firstLineOf(
            std::runtime_error("NCCL error in: a.cpp:1\nncclInternalError: a bug\nLast error:\nranks differ\n")) ==
        "NCCL error in: a.cpp:1: ranks differ");
  CHECK(firstLineOf(std::runtime_error("NCCL error in: a.cpp:1\nLast error:\n")) == "NCCL error in: a.cpp:1");
}
