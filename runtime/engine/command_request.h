#pragma once

// A trial of a command is one process that owns all devices of its point. Private to this directory.

#include <string>
#include <vector>

#include "runtime/engine/launcher.h"
#include "runtime/machine/machine.h"
#include "runtime/plan/plan.h"

namespace expc::engine {

/// The point's parameters with data paths made absolute: the program runs in another folder than the one that the
/// study's paths start from.
llvm::json::Object absoluteParameters(const plan::Plan& plan, const plan::Point& point);

/// Completes `request`, whose specification has the point's parameters: command, folder, one slot of all the devices,
/// environment (`variables`, then what expc sets itself; nothing is inherited), parameters (made absolute). A point
/// without a parameter `gpus` may use the cores of every slot: trials run one at a time, and how many threads it takes
/// is the program's business.
void completeForCommand(TrialRequest& request, const plan::Plan& plan, const plan::Point& point,
                        const std::vector<machine::Slot>& all, const std::vector<unsigned>& own,
                        const std::string& folder, const std::vector<std::string>& variables);

}  // namespace expc::engine
