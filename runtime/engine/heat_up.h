#pragma once

#include <vector>

#include "runtime/engine/interrupts.h"
#include "runtime/machine/machine.h"

namespace expc::engine {

/// Keeps every core of the slots busy for `seconds`, so that the first trial of a session does not find an idle
/// machine's clocks.
void heatUp(const std::vector<machine::Slot>& slots, double seconds, const Interrupts& interrupts);

}  // namespace expc::engine
