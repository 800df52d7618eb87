#include "runtime/worker/workload/image/image_sets.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

namespace expc::workload::image {

llvm::Expected<data::ImageSets> openImages(const Data& data, llvm::StringRef root) {
  data::Place place = data;
  if (place.kind != Data::Kind::Synthetic && llvm::sys::path::is_relative(place.path)) {
    llvm::SmallString<256> path(root);
    llvm::sys::path::append(path, place.path);
    place.path = path.str().str();
  }
  return data::open(place);
}

}  // namespace expc::workload::image
