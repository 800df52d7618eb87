// Copies and sets.

#include "nullgpu/core/copy.h"

#include "nullgpu/cudart/call.h"
#include "nullgpu/cudart/symbol.h"

namespace nullgpu {
namespace {

Rows row(size_t bytes) { return {bytes, 1, bytes, bytes}; }

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaMemcpy, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind),
             copy({to, from, row(bytes), kind, nullptr, true}))
NULLGPU_CALL(cudaMemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
             copy({to, from, row(bytes), kind, stream, false}))
/// CUDA's word for the sides of a copy between cards says nothing that the addresses do not.
NULLGPU_CALL(cudaMemcpyPeerAsync, (void* to, int, const void* from, int, size_t bytes, cudaStream_t stream),
             copy({to, from, row(bytes), cudaMemcpyDefault, stream, false}))
NULLGPU_CALL(cudaMemcpy2D,
             (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
              cudaMemcpyKind kind),
             copy({to, from, {width, height, to_pitch, from_pitch}, kind, nullptr, true}))
NULLGPU_CALL(cudaMemcpy2DAsync,
             (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
              cudaMemcpyKind kind, cudaStream_t stream),
             copy({to, from, {width, height, to_pitch, from_pitch}, kind, stream, false}))
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyToSymbol", [&] {
    void* to = nullptr;
    const cudaError_t error = addressOfSymbol(symbol, offset, bytes, &to);
    return error ? error : copy({to, from, row(bytes), kind, nullptr, true});
  });
}

NULLGPU_CALL(cudaMemset, (void* to, int value, size_t bytes), set(to, value, row(bytes), nullptr, true))
NULLGPU_CALL(cudaMemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream),
             set(to, value, row(bytes), stream, false))

NULLGPU_CALL(cudaGetSymbolAddress, (void** address, const void* symbol),
             address ? addressOfSymbol(symbol, 0, 0, address) : cudaErrorInvalidValue)

}  // extern "C"
