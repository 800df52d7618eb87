#include "nullgpu/nccl/failure.h"

#include <mutex>

namespace nullgpu::nccl {
namespace {

std::mutex mutex;
std::string& kept() {
  static std::string text;
  return text;
}

}  // namespace

void expect(cudaError_t error) {
  if (error != cudaSuccess)
    throw Failure(ncclUnhandledCudaError, std::string("Cuda failure '") + cudaGetErrorString(error) + "'");
}

void rememberError(const std::string& text) {
  const std::lock_guard lock(mutex);
  kept() = text;
}

const char* lastError() {
  thread_local std::string copy;
  const std::lock_guard lock(mutex);
  copy = kept();
  return copy.c_str();
}

}  // namespace nullgpu::nccl
