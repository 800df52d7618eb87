#include "runtime/worker/data/source.h"

#include <fmt/format.h>

namespace expc::data {

llvm::Error ScaledImages::fill(int64_t index, void* image, int64_t* label) const {
  if (index < 0 || index >= set_.count)
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        fmt::format("{}: image {} asked for, expected 0 to {}", set_.origin, index, set_.count - 1));
  *label = set_.labels[index];
  return preparer_.apply({set_.image(index), set_.rows, set_.cols, 1}, image);
}

}  // namespace expc::data
