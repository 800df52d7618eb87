#pragma once

// Copies and sets.

#include <driver_types.h>

#include <cstddef>
#include <memory>

#include "nullgpu/core/host_guard.h"
#include "nullgpu/core/stream.h"

namespace nullgpu {

/// An operation that uses a buffer of the host.
class GuardedOperation : public Operation {
 public:
  /// Watches that buffer, for an operation that waits from here on; null where there is none to watch.
  virtual std::unique_ptr<HostGuard> guard() const = 0;
};

/// `height` rows of `width` bytes; a row begins `pitch` bytes behind the one before.
struct Rows {
  size_t width = 0, height = 1;
  size_t to_pitch = 0, from_pitch = 0;
};

struct CopyCall {
  void* to = nullptr;
  const void* from = nullptr;
  Rows rows;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  cudaStream_t stream = nullptr;
  bool blocking = false;  // cudaMemcpy and not cudaMemcpyAsync
};

/// Waits for as much as CUDA says that a copy of this kind waits for.
/// @returns cudaErrorInvalidValue where the kind or the bytes are not those of the memory.
cudaError_t copy(const CopyCall& call);

/// Sets rows of a card's memory.
cudaError_t set(void* to, int value, const Rows& rows, cudaStream_t stream, bool blocking);

}  // namespace nullgpu
