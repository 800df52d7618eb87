#include "runtime/worker/data/images.h"

namespace expc::data {

char CorruptImage::ID = 0;

}  // namespace expc::data
