#pragma once

// Untimed load on CPU cores at the start of a session, so that its first trial finds cores at the clock rates and
// temperatures of later ones. GPUs are heated by worker processes (Campaign::heatGpusOf).

#include <functional>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::engine::launch {

/// Keeps every core of the slots busy for `seconds`, or until `ends` returns true, which is asked ten times a second.
/// Blocks the calling thread meanwhile.
void heatUp(const std::vector<machine::Slot>& slots, double seconds, const std::function<bool()>& ends);

}  // namespace expc::engine::launch
