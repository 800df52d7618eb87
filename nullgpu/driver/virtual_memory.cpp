// The driver's virtual memory, as torch's allocator uses it with expandable_segments: a range of
// addresses, memory without an address, and maps of one into the other. Memory is counted when it is
// made and goes back to the card when it is released and mapped nowhere. Its content lies in the file
// of the addresses, so memory that is mapped elsewhere later has lost it.

#include <cuda.h>

#include <map>
#include <mutex>

#include "nullgpu/core/arena.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/health.h"
#include "nullgpu/core/memory.h"

namespace {

constexpr size_t kGranularity = size_t{2} << 20;

/// The target of CUmemGenericAllocationHandle.
struct Memory {
  unsigned card;
  size_t bytes;
  size_t maps = 0;
  bool released = false;
};

std::mutex mutex;
/// The mapped memory by its address, under the mutex.
std::map<CUdeviceptr, Memory*> maps;

/// Frees memory that nobody can use any more. Called under the mutex.
void settle(Memory* memory) {
  if (!memory->released || memory->maps > 0) return;
  nullgpu::returnMemory(memory->card, memory->bytes);
  delete memory;
}

const void* pointer(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  *bytes = kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr, unsigned long long) {
  if (const cudaError_t error = nullgpu::health()) return CUresult(error);
  if (!address || bytes == 0 || bytes % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  // The card is that of the memory, which comes later: torch maps memory of the current card.
  auto* arena = new nullgpu::Arena(nullgpu::currentCard(), bytes);
  if (!nullgpu::enter(arena)) return delete arena, CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(arena->begin());
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  nullgpu::Arena* arena = nullgpu::arenaAround(pointer(address));
  if (!arena || arena->begin() != pointer(address) || arena->span() != bytes) return CUDA_ERROR_INVALID_VALUE;
  nullgpu::forget(arena);
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* wanted,
                     unsigned long long) {
  if (const cudaError_t error = nullgpu::health()) return CUresult(error);
  if (!handle || !wanted || bytes == 0 || bytes % kGranularity != 0) return CUDA_ERROR_INVALID_VALUE;
  if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (!nullgpu::isCard(wanted->location.id)) return CUDA_ERROR_INVALID_DEVICE;
  const auto card = unsigned(wanted->location.id);
  if (const cudaError_t error = nullgpu::takeMemory(card, bytes)) return CUresult(error);
  *handle = reinterpret_cast<CUmemGenericAllocationHandle>(new Memory{card, bytes});
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  if (!handle) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex);
  auto* memory = reinterpret_cast<Memory*>(handle);
  memory->released = true;
  settle(memory);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t, CUmemGenericAllocationHandle handle, unsigned long long) {
  nullgpu::Arena* arena = nullgpu::arenaAround(pointer(address));
  auto* memory = reinterpret_cast<Memory*>(handle);
  if (!arena || !memory || bytes > memory->bytes) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex);
  if (!maps.try_emplace(address, memory).second) return CUDA_ERROR_INVALID_VALUE;
  ++memory->maps;
  arena->place(arena->offset(pointer(address)), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  nullgpu::Arena* arena = nullgpu::arenaAround(pointer(address));
  const std::lock_guard lock(mutex);
  const auto found = maps.find(address);
  if (!arena || found == maps.end() || !arena->remove(arena->offset(pointer(address)), bytes))
    return CUDA_ERROR_INVALID_VALUE;
  --found->second->maps;
  settle(found->second);
  maps.erase(found);
  return CUDA_SUCCESS;
}

/// Every card may use every other card's memory, so there is no access to set.
CUresult cuMemSetAccess(CUdeviceptr address, size_t, const CUmemAccessDesc*, size_t) {
  return nullgpu::arenaAround(pointer(address)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// Other processes cannot map the memory. torch then says so, or copies.
CUresult cuMemExportToShareableHandle(void*, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
                                      unsigned long long) {
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  const nullgpu::Allocation found = nullgpu::allocationOf(pointer(address));
  if (!found.begin) return CUDA_ERROR_NOT_FOUND;
  if (begin) *begin = reinterpret_cast<CUdeviceptr>(found.begin);
  if (bytes) *bytes = found.bytes;
  return CUDA_SUCCESS;
}

}  // extern "C"
