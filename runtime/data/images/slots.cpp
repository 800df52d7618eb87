#include "runtime/data/images/slots.h"

#include <llvm/ADT/STLExtras.h>
#include <sys/mman.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"

namespace expc::data {
namespace {

constexpr size_t kLargePage = size_t{2} << 20;

/// Memory by mmap, in multiples of a large page.
Memory mapped(int sharing) {
  return [sharing](size_t bytes) -> std::shared_ptr<void> {
    const size_t length = (bytes + kLargePage - 1) / kLargePage * kLargePage;
    void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, length, MADV_HUGEPAGE);  // only a request; small pages work too
    return {memory, [length](void* mapping) { munmap(mapping, length); }};
  };
}

}  // namespace

Memory ownMemory() { return mapped(MAP_PRIVATE); }
Memory sharedMemory() { return mapped(MAP_SHARED); }

Expected<std::shared_ptr<Slots>> Slots::create(size_t count, int64_t items, size_t image_bytes, const Memory& memory) {
  std::shared_ptr<Slots> slots(new Slots());
  // Labels begin at a cache line of their own.
  constexpr size_t kAlignment = 64;
  slots->image_bytes_ = image_bytes;
  slots->labels_at_ = (size_t(items) * image_bytes + kAlignment - 1) / kAlignment * kAlignment;
  slots->bytes_ = slots->labels_at_ + size_t(items) * sizeof(int64_t);
  for (size_t i = 0; i < count; ++i) {
    auto place = memory(slots->bytes_);
    if (!place)
      return failure("loader: no memory for {} batches of {} bytes; lower batch, size, workers or prefetch", count,
                     slots->bytes_);
    slots->memory_of_.push_back(std::move(place));
    // The first slot is taken first.
    slots->free_.push_back(count - 1 - i);
  }
  return slots;
}

std::optional<size_t> Slots::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::nullopt;
  const size_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void Slots::give(size_t slot) {
  // Called without the lock, since the callback may take a slot.
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    assert(!is_contained(free_, slot));
    free_.push_back(slot);
    call = on_give_;
  }
  if (call) call();
}

void Slots::onGive(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  on_give_ = std::move(call);
}

unsigned Slots::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

std::shared_ptr<void> Slots::holder(size_t slot) {
  {
    const std::lock_guard lock(mutex_);
    ++held_;
  }
  return {images(slot), [slots = shared_from_this(), slot](void*) {
            {
              const std::lock_guard lock(slots->mutex_);
              --slots->held_;
            }
            slots->give(slot);
          }};
}

}  // namespace expc::data
