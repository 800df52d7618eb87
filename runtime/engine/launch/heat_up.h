#pragma once

#include <functional>
#include <vector>

#include "runtime/machine/machine.h"

namespace expc::engine::launch {

/// Keeps every core of the slots busy for `seconds`, or until `ends` says so, which is asked several times a second.
void heatUp(const std::vector<machine::Slot>& slots, double seconds, const std::function<bool()>& ends);

}  // namespace expc::engine::launch
