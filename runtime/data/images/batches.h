#pragma once

// A loader, whoever it is: batches of prepared images in order, in the host's memory.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/data/images/images.h"
#include "runtime/data/images/preparation.h"

namespace expc::data {

/// What becomes of an image that cannot be decoded.
enum class OnCorrupt {
  Fail,     // its batch is an error
  Replace,  // the next image that can be takes its place: for training
  LeaveOut  // its place is black and has kLeftOut for a label: for judging, where each image counts once
};
inline constexpr int64_t kLeftOut = -1;

/// Memory for a loader's batches, 64-byte aligned; null when there is none.
using Memory = std::function<std::shared_ptr<void>(size_t bytes)>;

/// What every loader is asked for.
struct LoaderOptions {
  /// Items of an epoch in the order they are wanted; called once an epoch, from any thread, never from two at once.
  std::function<std::vector<int64_t>(int64_t epoch)> order;
  int64_t batch = 1;
  bool drop_last = false;  // leave out an epoch's short last batch
  int64_t first_epoch = 0;
  int64_t epochs = 0;  // 0: without end
  Preparation preparation;
  OnCorrupt on_corrupt = OnCorrupt::Fail;  // those that do not fail are counted
  unsigned held = 1;                       // batches the caller keeps at a time; one more is an error, not a hang
  Memory memory;           // page-locked, given by the device, so that nothing here knows CUDA; none: the loader's own
  unsigned workers = 1;    // who prepare batches; 0: they are prepared inside next()
  unsigned prefetch = 2;   // batches that each worker may be ahead; of workers that share batches, all together
  bool processes = false;  // workers of the data loader are processes, not threads
};

/// One batch in the loader's memory. It gives the memory back when it is destroyed; it may outlive its loader.
struct HostBatch {
  const void* images = nullptr;  // count prepared images, one after the other
  const int64_t* labels = nullptr;
  int64_t count = 0;  // below the batch size only in an epoch's last one
  int64_t epoch = 0;
  int64_t number = 0;      // in its epoch, from 0
  bool last = false;       // the epoch's last
  bool on_device = false;  // images lie in a GPU's memory, final as Preparation asks; labels never do
  std::shared_ptr<void> holder = {};
};

class Batches {
 public:
  virtual ~Batches() = default;
  /// The next batch in order, or nothing after the last epoch. An error while one is prepared comes at that batch's
  /// turn, and again at every call after it.
  virtual llvm::Expected<std::optional<HostBatch>> next() = 0;
  /// Seconds that next() has taken so far.
  virtual double waitSeconds() const = 0;
  /// Images that could not be decoded so far.
  virtual int64_t skipped() const = 0;
};

// Two loaders of ours. `images` must live longer than the loader. At most `held` batches may be alive; asking for one
// more is an error, not a hang. An error when the options make no sense, memory is short or a worker does not start.

/// Batches as torch.utils.data.DataLoader makes them (docs/semantics.md §10): what is prepared when, by whom, and in
/// which order it is handed over. Batch k of an epoch goes to worker k mod workers. `workers` x `prefetch` batches are
/// under way when an epoch begins, and one more is given out each time one is handed over; results that come early wait
/// for their turn. Workers are started anew in every epoch (persistent_workers is False in PyTorch too), the first when
/// the loader is made, later ones when the epoch's first batch is asked for: nothing is prepared across the end of an
/// epoch.
///
/// With `memory` and workers, a thread of its own copies results there in the order in which they arrive;
/// without workers next() copies. Otherwise batches stay where the workers wrote them: for processes that is memory
/// shared with them.
///
/// A worker process that dies ends the loader with an error that names its signal or exit code.
llvm::Expected<std::unique_ptr<Batches>> makeDataLoader(const Images& images, LoaderOptions options);

/// Threads that share one batch after the other item by item and write each straight into its place. Batches lie in
/// `memory` when it is given (page-locked where there is a device), and nothing is copied in between: every image goes
/// from where it was decoded to its final place. All threads work on the oldest batch that has an item left, so a batch
/// is there as soon as all of them together can have it, and the next epoch begins while the last batches of this one
/// are still used. The order of delivery is that of the indices, whatever thread finishes first.
///
/// Memory of its own is in large pages, first written by the loader's threads; they have the cores and the memory
/// policy of the thread that makes the loader, so it lies on the rank's socket.
llvm::Expected<std::unique_ptr<Batches>> makeNativeLoader(const Images& images, LoaderOptions options);

}  // namespace expc::data
