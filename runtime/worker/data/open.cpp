#include "runtime/worker/data/open.h"

#include <llvm/Support/ErrorHandling.h>

#include "runtime/worker/data/folder.h"
#include "runtime/worker/data/memory_images.h"
#include "runtime/worker/data/packed.h"

namespace expc::data {

llvm::Expected<ImageSets> open(const Place& place) {
  switch (place.kind) {
    case Place::Kind::Mnist:
      return readMnist(place.path);
    case Place::Kind::Synthetic:
      return synthetic(place.count);
    case Place::Kind::Folder:
      return openFolder(place.path);
    case Place::Kind::Packed:
      return openPacked(place.path);
  }
  llvm_unreachable("no other kind of data");
}

}  // namespace expc::data
