#pragma once

// The interface of all loaders of images: options in, batches of prepared images out, in order, in the host's memory.
// Two loaders here implement it: dataloader.cpp has the semantics of PyTorch's DataLoader, so that their cost can be
// measured, and native.cpp is ours and faster. DALI's (runtime/worker/dali) shares the interface too.
//
// No torch here: a training loop wraps a batch's memory itself.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/images.h"
#include "runtime/data/images/preparation.h"

namespace expc::data {

/// The treatment of an image that cannot be decoded.
enum class OnCorrupt {
  Fail,     // the batch becomes an error
  Replace,  // the next image that can be decoded takes its place; for training
  LeaveOut  // its place is black and its label kLeftOut; for evaluation, where each image counts once
};
/// The label of an image that was left out.
inline constexpr int64_t kLeftOut = -1;

/// Allocates memory for batches, aligned to 64 bytes; null if there is none. The last owner frees it.
using Memory = std::function<std::shared_ptr<void>(size_t bytes)>;

/// The order of images, the form of batches, and the resources of any loader.
struct LoaderOptions {
  /// The indices of an epoch's images in the order they are wanted. Called once for each epoch, from any thread, never
  /// from two at once.
  std::function<std::vector<int64_t>(int64_t epoch)> order;
  int64_t batch = 1;
  bool drop_last = false;  // leave out the last batch of an epoch if it is short
  int64_t first_epoch = 0;
  int64_t epochs = 0;  // 0: without end
  Preparation preparation;
  OnCorrupt on_corrupt = OnCorrupt::Fail;  // replaced and left-out images are counted by skipped()
  /// Batches the caller keeps at a time. Asking for one more is an error, where waiting for it would hang.
  unsigned held = 1;
  /// Memory for finished batches; the loader's own if it is empty. A device passes page-locked memory this way, so that
  /// nothing here depends on CUDA.
  Memory memory;
  unsigned workers = 1;    // threads or processes that prepare batches; 0: next() prepares them
  unsigned prefetch = 2;   // batches that each worker may be ahead; if workers share batches, all of them together
  bool processes = false;  // workers are processes instead of threads; data loader only
};

/// One batch in the loader's memory. The memory goes back to the loader when the last copy of `holder` is destroyed,
/// which may be after the loader's own end.
struct HostBatch {
  const void* images = nullptr;  // count prepared images, one after the other
  const int64_t* labels = nullptr;
  int64_t count = 0;  // less than the batch size only in the last batch of an epoch
  int64_t epoch = 0;
  int64_t number = 0;      // in its epoch, from 0
  bool last = false;       // the epoch's last
  bool on_device = false;  // images lie in a GPU's memory and need no further preparation; labels never do
  std::shared_ptr<void> holder = {};
};

/// A loader. One thread uses it.
class Batches {
 public:
  virtual ~Batches() = default;
  /// The next batch in order, or nothing after the last epoch. An error in the preparation of a batch is returned when
  /// that batch is due, and again by every later call.
  virtual Expected<std::optional<HostBatch>> next() = 0;
  /// Seconds spent in next() so far: the time that the caller waited for data.
  virtual double waitSeconds() const = 0;
  /// The number of images so far that could not be decoded.
  virtual int64_t skipped() const = 0;
};

// Our two loaders. `images` must outlive the loader. At most `held` batches may be alive; asking for one more is an
// error, where waiting would hang. Making a loader fails if the options make no sense, memory is short or a worker does
// not start.

/// Batches as torch.utils.data.DataLoader makes them (docs/semantics.md §10): the same work at the same time by the
/// same worker, handed over in the same order. Batch k of an epoch goes to worker k mod workers. `workers` x `prefetch`
/// batches are given out when an epoch begins, and one more whenever one is handed over; results that come early wait
/// for their turn. Workers are started anew for every epoch (as with PyTorch's default persistent_workers=False): the
/// first ones by this function, later ones when the epoch's first batch is asked for. Nothing is prepared across the
/// end of an epoch.
///
/// With `memory` and workers, one more thread copies results into that memory in the order in which they arrive, like
/// PyTorch's pinning thread; without workers next() copies. Otherwise batches stay where the workers wrote them, which
/// for processes is memory shared with them.
///
/// The death of a worker process is an error that names its signal or exit code.
Expected<std::unique_ptr<Batches>> makeDataLoader(const Images& images, LoaderOptions options);

/// Batches by threads that share one batch after the other, item by item. Each image goes from where it was decoded
/// straight to its final place in `memory` (page-locked where there is a device); nothing is copied in between. All
/// threads work on the oldest batch with an item left, so a batch is complete as soon as all threads together can make
/// it, and the next epoch begins while the last batches of this one are in use. Batches are handed over in order,
/// whichever thread finishes first.
///
/// The loader's own memory is in large pages that its threads write first. They have the cores and the memory policy of
/// the thread that makes the loader, so the memory lies on the rank's socket.
Expected<std::unique_ptr<Batches>> makeNativeLoader(const Images& images, LoaderOptions options);

}  // namespace expc::data
