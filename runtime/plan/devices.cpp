#include "runtime/plan/devices.h"

namespace expc::plan {

unsigned devicesOf(const Point& point) {
  const llvm::json::Value* value = point.parameters.get("gpus");
  const auto number = value ? value->getAsInteger() : std::nullopt;
  return number && *number > 0 ? static_cast<unsigned>(*number) : 1;
}

}  // namespace expc::plan
