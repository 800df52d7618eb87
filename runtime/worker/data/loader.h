#pragma once

// Batches in order, prepared ahead by threads, in memory that is kept and used again.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/worker/data/sampler.h"
#include "runtime/worker/data/source.h"

namespace expc::data {

struct LoaderOptions {
  /// Items of an epoch in the order they are wanted; called once an epoch, from any thread, never from two at once.
  std::function<std::vector<int64_t>(int64_t epoch)> order;
  int64_t batch = 1;       // items in a batch
  bool drop_last = false;  // leave out an epoch's short last batch
  int64_t first_epoch = 0;
  int64_t epochs = 0;     // 0: without end
  unsigned workers = 0;   // threads that prepare batches; 0 prepares them inside next()
  unsigned prefetch = 2;  // batches each thread prepares ahead
  unsigned held = 1;      // batches the caller keeps at a time
};

namespace detail {
struct LoaderState;
}

/// One batch in the loader's memory (64-byte aligned): count x image and count labels. Destroying it gives the memory
/// back. It may outlive its loader.
class Batch {
 public:
  void* images = nullptr;     // count prepared images, one after the other
  int64_t* labels = nullptr;  // count labels
  int64_t count = 0;          // below the batch size only in an epoch's last one
  int64_t epoch = 0;
  int64_t number = 0;  // in its epoch, from 0
  bool last = false;   // the epoch's last

  Batch() = default;
  Batch(Batch&& other) noexcept { *this = std::move(other); }
  Batch& operator=(Batch&& other) noexcept;
  ~Batch() { release(); }
  /// Gives the memory back early; images and labels are null afterwards.
  void release();

 private:
  friend class Loader;
  std::shared_ptr<detail::LoaderState> state_;
  size_t slot_ = 0;
};

/// Batches are delivered in the order of the indices whatever thread finishes first. An error (or exception) while
/// preparing a batch is returned by next() at that batch's turn, and by every call after it.
class Loader {
 public:
  /// `source` must live as long as the loader. An error when the options make no sense (an endless order without a
  /// batch), memory is short or a thread does not start.
  static llvm::Expected<std::unique_ptr<Loader>> create(const Source& source, LoaderOptions options);
  /// Stops in the middle if need be: waits only for items that are being prepared.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch, or nothing after the last epoch. At most `held` batches may be alive: one more is an error, not a
  /// hang.
  llvm::Expected<std::optional<Batch>> next();
  /// Seconds that next() has taken so far: waiting for a thread, or all of the preparation without threads.
  double waitSeconds() const { return wait_seconds_; }

 private:
  explicit Loader(std::shared_ptr<detail::LoaderState> state) : state_(std::move(state)) {}
  std::shared_ptr<detail::LoaderState> state_;
  double wait_seconds_ = 0;
};

/// Batches an epoch of `items` gives.
inline int64_t batchesPerEpoch(int64_t items, int64_t batch, bool drop_last) {
  return drop_last ? items / batch : (items + batch - 1) / batch;
}

}  // namespace expc::data
