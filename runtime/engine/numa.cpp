// The parameter `numa`: near (the default), any, far. The compiler has checked the words.

#include "runtime/engine/numa.h"

namespace expc::engine {

machine::Place placeOf(const llvm::json::Object& parameters) {
  const auto name = parameters.getString("numa").value_or("near");
  return name == "far" ? machine::Place::Far : name == "any" ? machine::Place::Any : machine::Place::Near;
}

bool meansLittle(machine::Place place, const machine::Machine& machine) {
  return place == machine::Place::Any && machine.nodes.size() <= 1;
}

}  // namespace expc::engine
