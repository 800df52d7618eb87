#pragma once

// Batches as torch.utils.data.DataLoader makes them (docs/semantics.md §10): what is prepared when, by whom, and in
// which order it is handed over.

#include <llvm/Support/Error.h>

#include <memory>

#include "runtime/worker/data/batches.h"

namespace expc::data {

/// Batch k of an epoch goes to worker k mod workers. `workers` x `prefetch` batches are under way when an epoch begins,
/// and one more is given out each time one is handed over; results that come early wait for their turn. Workers are
/// started anew in every epoch (persistent_workers is False in PyTorch too), the first when the loader is made, later
/// ones when the epoch's first batch is asked for: nothing is prepared across the end of an epoch.
///
/// With `memory` and workers, a thread of its own copies results there in the order in which they arrive;
/// without workers next() copies. Otherwise batches stay where the workers wrote them: for processes that is memory
/// shared with them.
///
/// `images` must live longer than the loader. At most `held` batches may be alive; asking for one more is an error, not
/// a hang. An error when the options make no sense, memory is short or a worker does not start; a worker process that
/// dies ends the loader with an error that names its signal or exit code.
llvm::Expected<std::unique_ptr<Batches>> makeDataLoader(const Images& images, LoaderOptions options);

}  // namespace expc::data
