#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <stdexcept>
#include <string>

namespace nullgpu::nccl {

/// A call that cannot be done: what it answers, and what ncclGetLastError says then.
class Failure : public std::runtime_error {
 public:
  Failure(ncclResult_t answer, const std::string& text) : std::runtime_error(text), answer(answer) {}
  const ncclResult_t answer;
};

/// Throws the Failure with which NCCL answers an error of the runtime, unless there is none.
void expect(cudaError_t error);

/// Keeps `text` for ncclGetLastError.
void rememberError(const std::string& text);
/// The text kept last, in any thread; valid until this thread asks again.
const char* lastError();

}  // namespace nullgpu::nccl
