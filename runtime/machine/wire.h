#pragma once

// A machine's description on its way to another one of the same build, with all that slots and places are made of.

#include <llvm/Support/JSON.h>

#include <optional>

#include "runtime/machine/machine.h"

namespace expc::machine {

llvm::json::Object toWire(const Machine& machine);

/// Nothing where it is none. Null cards are never on their way.
std::optional<Machine> machineFromWire(const llvm::json::Value& value);

}  // namespace expc::machine
