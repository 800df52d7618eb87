// The parameter `numa`: near (the default), any, far. The compiler has checked the words.

#include "runtime/engine/numa.h"

namespace expc::engine {

machine::Placement placementOf(const json::Object& parameters) {
  const auto name = parameters.getString("numa").value_or("near");
  return name == "far" ? machine::Placement::Far : name == "any" ? machine::Placement::Any : machine::Placement::Near;
}

bool meansLittle(machine::Placement place, const Machine& machine) {
  return place == machine::Placement::Any && machine.nodes.size() <= 1;
}

}  // namespace expc::engine
