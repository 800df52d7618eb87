#include "runtime/worker/data/open.h"

#include <llvm/Support/ErrorHandling.h>

#include <utility>

#include "runtime/worker/data/folder.h"
#include "runtime/worker/data/image_set.h"
#include "runtime/worker/data/memory_images.h"
#include "runtime/worker/data/packed.h"

namespace expc::data {
namespace {

llvm::Expected<ImageSets> inMemory(llvm::Expected<Dataset> read) {
  if (!read) return read.takeError();
  return ImageSets{std::make_unique<MemoryImages>(std::move(read->train)),
                   std::make_unique<MemoryImages>(std::move(read->test))};
}

}  // namespace

llvm::Expected<ImageSets> open(const Place& place) {
  switch (place.kind) {
    case Place::Kind::Mnist:
      return inMemory(readMnist(place.path));
    case Place::Kind::Synthetic:
      return inMemory(synthetic(place.count));
    case Place::Kind::Folder:
      return openFolder(place.path);
    case Place::Kind::Packed:
      return openPacked(place.path);
  }
  llvm_unreachable("no other kind of data");
}

}  // namespace expc::data
