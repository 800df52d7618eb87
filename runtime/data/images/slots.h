#pragma once

// The memory of a loader's batches: a fixed number of slots, allocated once and used again. Slots live as long as the
// loader or a batch in one of them, so a batch may outlive its loader. Allocation during a run would fault pages in and
// disturb what is measured.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/batches.h"

namespace expc::data {

/// Anonymous pages of this process, large ones where the system has them. They are untouched: the thread that first
/// writes to a page decides on which socket it lies.
Memory ownMemory();
/// Pages as of ownMemory(), shared with processes that are forked afterwards.
Memory sharedMemory();

/// Slots for whole batches: images, then labels. All members may be called from several threads at once.
class Slots : public std::enable_shared_from_this<Slots> {
 public:
  /// Makes `count` slots, each for `items` images of `image_bytes` and as many labels. An error if memory is short.
  static Expected<std::shared_ptr<Slots>> create(size_t count, int64_t items, size_t image_bytes, const Memory& memory);

  /// A free slot, or nothing if there is none.
  std::optional<size_t> take();
  /// Makes a slot free again.
  void give(size_t slot);
  /// Sets a function that is called after each give(), on the thread that gives.
  void onGive(std::function<void()> call);
  /// The number of slots that holders keep.
  unsigned held() const;

  /// The images and labels of a slot.
  char* images(size_t slot) const { return static_cast<char*>(memory_of_[slot].get()); }
  int64_t* labels(size_t slot) const { return reinterpret_cast<int64_t*>(images(slot) + labels_at_); }
  size_t count() const { return memory_of_.size(); }
  size_t imageBytes() const { return image_bytes_; }
  /// The bytes of one slot.
  size_t bytes() const { return bytes_; }
  /// A handle that gives the slot back when its last copy is destroyed. It keeps all slots alive.
  std::shared_ptr<void> holder(size_t slot);

 private:
  Slots() = default;

  size_t image_bytes_ = 0, labels_at_ = 0, bytes_ = 0;
  std::vector<std::shared_ptr<void>> memory_of_;

  mutable std::mutex mutex_;  // guards all that follows
  std::vector<size_t> free_;
  unsigned held_ = 0;
  std::function<void()> on_give_;
};

}  // namespace expc::data
