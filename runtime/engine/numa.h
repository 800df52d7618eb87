#pragma once

// The parameter `numa`: on which socket a rank's cores and memory are.

#include <llvm/Support/JSON.h>

#include "runtime/machine/machine.h"

namespace expc::engine {

/// The placement of ranks that the parameter `numa` asks for; near without it.
machine::Place placeOf(const llvm::json::Object& parameters);

/// Whether a placement differs from near only in that ranks may move between cores, as on a machine with one memory
/// node.
bool meansLittle(machine::Place place, const machine::Machine& machine);

}  // namespace expc::engine
