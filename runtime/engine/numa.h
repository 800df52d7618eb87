#pragma once

// The parameter `numa`: on which socket a rank's cores and memory are, seen from its device. machine::placed() applies
// it to a slot.

#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/machine/machine.h"
#include "runtime/machine/slots.h"

namespace expc::engine {

/// The placement that the parameter `numa` asks for; near without the parameter.
machine::Place placeOf(const llvm::json::Object& parameters);

/// Describes the part of the parameter `numa` that makes no difference on this machine; "" if all of it does.
std::string placeNote(const machine::Machine& machine, const llvm::json::Object& parameters);

}  // namespace expc::engine
