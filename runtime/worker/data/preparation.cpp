#include "runtime/worker/data/preparation.h"

namespace expc::data {

size_t bytesOf(Element element) {
  switch (element) {
    case Element::UInt8:
      return 1;
    case Element::Float16:
    case Element::BFloat16:
      return 2;
    case Element::Float32:
      return 4;
    case Element::Float64:
      return 8;
  }
  return 0;
}

}  // namespace expc::data
