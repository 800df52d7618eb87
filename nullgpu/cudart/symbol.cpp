#include "nullgpu/cudart/symbol.h"

#include <map>
#include <mutex>
#include <unordered_map>

#include "nullgpu/core/allocation.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

struct Symbol {
  size_t bytes = 0;
  std::map<unsigned, void*> places;  // by card
};

std::mutex mutex;

std::unordered_map<const void*, Symbol>& symbols() {
  static auto* all = new std::unordered_map<const void*, Symbol>;
  return *all;
}

}  // namespace

cudaError_t addressOfSymbol(const void* symbol, size_t offset, size_t bytes, void** address) {
  const std::lock_guard lock(mutex);
  const auto found = symbols().find(symbol);
  if (found == symbols().end()) return cudaErrorInvalidSymbol;
  Symbol& known = found->second;
  if (offset > known.bytes || bytes > known.bytes - offset) return cudaErrorInvalidValue;
  void*& place = known.places[currentCard()];
  if (!place)
    if (const cudaError_t error = allocateQuietly(currentCard(), known.bytes, &place)) return error;
  *address = static_cast<char*>(place) + offset;
  return cudaSuccess;
}

}  // namespace nullgpu

extern "C" void __cudaRegisterVar(void**, char* variable, char*, const char*, int, size_t bytes, int, int) {
  const std::lock_guard lock(nullgpu::mutex);
  nullgpu::symbols()[variable].bytes = bytes;
}
