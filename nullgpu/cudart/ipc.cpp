// Memory of a card and events that processes share. A handle names the file of the memory, which the
// other process maps as well; the owner must live until then, as with CUDA. An event is waited for
// when its handle is made, so the other process gets one that has already happened.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "nullgpu/core/arena.h"
#include "nullgpu/core/cards.h"
#include "nullgpu/core/memory.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// The content of cudaIpcMemHandle_t. The card has the machine's number.
struct Place {
  int pid, file;
  unsigned card;
  uint64_t start, span, offset, bytes;
};
static_assert(sizeof(Place) <= sizeof(cudaIpcMemHandle_t));

cudaError_t handleOf(cudaIpcMemHandle_t* handle, const void* address) {
  const Arena* arena = arenaAround(address);
  const Allocation found = allocationOf(address);
  if (!handle || !arena || !found.begin) return cudaErrorInvalidValue;
  const Place place{getpid(),          arena->file(), visibleCards()[arena->card()],
                    startOf(getpid()), arena->span(), arena->offset(found.begin),
                    found.bytes};
  std::memcpy(handle, &place, sizeof place);
  return cudaSuccess;
}

/// Maps the memory of a handle. All memory of one file of a process is mapped once, and stays.
cudaError_t open(void** address, const cudaIpcMemHandle_t& handle) {
  static std::mutex mutex;
  static std::map<std::tuple<int, uint64_t, int>, Arena*> opened;
  Place place;
  std::memcpy(&place, &handle, sizeof place);
  const auto card = std::ranges::find(visibleCards(), place.card) - visibleCards().begin();
  if (!address || place.pid == getpid() || card == std::ssize(visibleCards())) return cudaErrorInvalidValue;
  const std::lock_guard lock(mutex);
  Arena*& arena = opened[{place.pid, place.start, place.file}];
  if (!arena) {
    if (startOf(place.pid) != place.start) return cudaErrorMapBufferObjectFailed;
    const std::string name = "/proc/" + std::to_string(place.pid) + "/fd/" + std::to_string(place.file);
    struct stat status;
    const int file = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return cudaErrorMapBufferObjectFailed;
    if (fstat(file, &status) != 0 || uint64_t(status.st_size) != place.span) return close(file), cudaErrorInvalidValue;
    arena = new Arena(unsigned(card), place.span, file);
    enter(arena);
  }
  if (!allocationOf(arena->begin() + place.offset).begin) arena->place(place.offset, place.bytes);
  *address = arena->begin() + place.offset;
  return cudaSuccess;
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void* address), handleOf(handle, address))
NULLGPU_CALL(cudaIpcOpenMemHandle, (void** address, cudaIpcMemHandle_t handle, unsigned), open(address, handle))
NULLGPU_CALL(cudaIpcCloseMemHandle, (void*), cudaSuccess)
NULLGPU_CALL(cudaIpcGetEventHandle, (cudaIpcEventHandle_t*, cudaEvent_t event), cudaEventSynchronize(event))
NULLGPU_CALL(cudaIpcOpenEventHandle, (cudaEvent_t * event, cudaIpcEventHandle_t),
             cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventInterprocess))

}  // extern "C"
