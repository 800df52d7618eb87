#pragma once

// A set of images held as tensors: what a training has that reads its whole data set into memory before it begins.

#include <llvm/Support/Error.h>

#include <memory>

#include "runtime/worker/data/images.h"
#include "runtime/worker/data/preparation.h"

namespace expc::data {

/// The images of a set, decoded and scaled to `preparation`'s rows, columns, channels and layout, in fp32 and not
/// normalised: four bytes a value, for batches of that shape and layout. The error is of the first that cannot be read.
llvm::Expected<std::unique_ptr<Images>> preload(std::unique_ptr<Images> images, Preparation preparation);

}  // namespace expc::data
