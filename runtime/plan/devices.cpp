#include "runtime/plan/devices.h"

#include <algorithm>

namespace expc::plan {
namespace {

/// 0: there is no such parameter, or none that counts.
unsigned countOf(const Point& point, llvm::StringRef name) {
  const llvm::json::Value* value = point.parameters.get(name);
  const auto number = value ? value->getAsInteger() : std::nullopt;
  return number && *number > 0 && *number <= INT32_MAX ? static_cast<unsigned>(*number) : 0;
}

}  // namespace

unsigned devicesOf(const Point& point) {
  const unsigned own = countOf(point, "gpus");
  return own > 0 ? own : std::max(1u, nodesOf(point));
}

unsigned nodesOf(const Point& point) { return countOf(point, "nodes"); }

unsigned nodesOf(const Point& point, unsigned each) {
  const unsigned own = nodesOf(point);
  return own > 0 ? own : std::max(1u, devicesOf(point) / std::max(1u, each));
}

}  // namespace expc::plan
