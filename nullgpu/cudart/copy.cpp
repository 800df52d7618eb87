// Copies and sets.

#include "nullgpu/core/copy.h"

#include "nullgpu/cudart/call.h"
#include "nullgpu/cudart/symbol.h"

namespace nullgpu {
namespace {

Rows row(size_t bytes) { return {bytes, 1, bytes, bytes}; }

/// CUDA's word for the sides of a copy between cards says nothing that the addresses do not.
cudaError_t copyPeer(void* to, const void* from, size_t bytes, cudaStream_t stream, bool blocking) {
  return copy({to, from, row(bytes), cudaMemcpyDefault, stream, blocking});
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return call("cudaMemcpy", [&] { return copy({to, from, row(bytes), kind, nullptr, true}); });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpyAsync", [&] { return copy({to, from, row(bytes), kind, stream, false}); });
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return call("cudaMemcpyPeer", [&] { return copyPeer(to, from, bytes, nullptr, true); });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, cudaStream_t stream) {
  return call("cudaMemcpyPeerAsync", [&] { return copyPeer(to, from, bytes, stream, false); });
}
cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return call("cudaMemcpy2D",
              [&] { return copy({to, from, {width, height, to_pitch, from_pitch}, kind, nullptr, true}); });
}
cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                              size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call("cudaMemcpy2DAsync",
              [&] { return copy({to, from, {width, height, to_pitch, from_pitch}, kind, stream, false}); });
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  return call("cudaMemcpyToSymbol", [&] {
    void* to = nullptr;
    const cudaError_t error = addressOfSymbol(symbol, offset, bytes, &to);
    return error ? error : copy({to, from, row(bytes), kind, nullptr, true});
  });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return call("cudaMemset", [&] { return set(to, value, row(bytes), nullptr, true); });
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return call("cudaMemsetAsync", [&] { return set(to, value, row(bytes), stream, false); });
}

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return call("cudaGetSymbolAddress",
              [&] { return address ? addressOfSymbol(symbol, 0, 0, address) : cudaErrorInvalidValue; });
}

}  // extern "C"
