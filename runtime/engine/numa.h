#pragma once

// The parameter `numa`: on which socket a rank's cores and memory are, seen from its device. machine::placed() applies
// it to a slot.

#include <llvm/Support/JSON.h>

#include "runtime/base/llvm.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/slots.h"

namespace expc::engine {

/// The placement that the parameter `numa` asks for; near without the parameter.
machine::Placement placementOf(const json::Object& parameters);

/// Whether a placement differs from near only in that ranks may move between cores, as on a machine with one memory
/// node.
bool meansLittle(machine::Placement place, const Machine& machine);

}  // namespace expc::engine
