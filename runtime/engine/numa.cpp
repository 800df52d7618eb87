// The parameter `numa`: near (the default), any, far. The compiler has checked the words.

#include "runtime/engine/numa.h"

namespace expc::engine {

machine::Place placeOf(const llvm::json::Object& parameters) {
  const auto name = parameters.getString("numa").value_or("near");
  return name == "far" ? machine::Place::Far : name == "any" ? machine::Place::Any : machine::Place::Near;
}

std::string placeNote(const machine::Machine& machine, const llvm::json::Object& parameters) {
  // On a machine with one memory node `any` and `near` differ only in the binding; a reader of the results should know.
  if (placeOf(parameters) != machine::Place::Any || machine.nodes.size() > 1) return "";
  return "numa = any: this machine has one memory node, so all that differs from near is that ranks may move between "
         "cores";
}

}  // namespace expc::engine
