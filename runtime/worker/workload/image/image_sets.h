#pragma once

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include "runtime/worker/data/images.h"
#include "runtime/worker/workload/image/parameters.h"

namespace expc::workload::image {

/// Opens the training and test images of parameter `data`. A relative path starts at `root`.
llvm::Expected<data::ImageSets> openImages(const Data& data, llvm::StringRef root);

}  // namespace expc::workload::image
