#pragma once

// Our own loader: threads that share one batch after the other item by item and write each straight into its place.

#include <llvm/Support/Error.h>

#include <memory>

#include "runtime/worker/data/batches.h"

namespace expc::data {

/// Batches lie in `memory` when it is given (page-locked where there is a device), and nothing is copied in between:
/// every image goes from where it was decoded to its final place. All threads work on the oldest batch that has an item
/// left, so a batch is there as soon as all of them together can have it, and the next epoch begins while the last
/// batches of this one are still used. The order of delivery is that of the indices, whatever thread finishes first.
///
/// Memory of its own is in large pages, first written by the loader's threads; they have the cores and the memory
/// policy of the thread that makes the loader, so it lies on the rank's socket.
///
/// `images` must live longer than the loader. At most `held` batches may be alive; asking for one more is an error, not
/// a hang. An error when the options make no sense, memory is short or a thread does not start.
llvm::Expected<std::unique_ptr<Batches>> makeNativeLoader(const Images& images, LoaderOptions options);

}  // namespace expc::data
