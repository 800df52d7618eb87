#pragma once

// Memory for a loader's batches: made once, used again, alive as long as one of them is.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/data/images/batches.h"

namespace expc::data {

/// Pages of this process, large ones where the system has them, untouched: whoever writes first decides on which
/// socket they lie.
Memory ownMemory();
/// The same, shared with the processes that are forked afterwards.
Memory sharedMemory();

class Slots : public std::enable_shared_from_this<Slots> {
 public:
  /// `count` slots for `items` images of `image_bytes` and as many labels. An error when memory is short.
  static llvm::Expected<std::shared_ptr<Slots>> create(size_t count, int64_t items, size_t image_bytes,
                                                       const Memory& memory);

  /// A free slot, or nothing.
  std::optional<size_t> take();
  void give(size_t slot);
  /// Called after each give(), from whatever thread gives; nothing once the loader is gone.
  void onGive(std::function<void()> call);
  /// Slots that holders keep.
  unsigned held() const;

  char* images(size_t slot) const { return static_cast<char*>(memory_of_[slot].get()); }
  int64_t* labels(size_t slot) const { return reinterpret_cast<int64_t*>(images(slot) + labels_at_); }
  size_t count() const { return memory_of_.size(); }
  size_t imageBytes() const { return image_bytes_; }
  /// Bytes of one slot.
  size_t bytes() const { return bytes_; }
  /// Gives the slot back when the last copy goes.
  std::shared_ptr<void> holder(size_t slot);

 private:
  Slots() = default;

  size_t image_bytes_ = 0, labels_at_ = 0, bytes_ = 0;
  std::vector<std::shared_ptr<void>> memory_of_;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<size_t> free_;
  unsigned held_ = 0;
  std::function<void()> on_give_;
};

}  // namespace expc::data
