#pragma once

// A trial of a command is one process on each of its nodes, which owns all devices that the point has there. Private to
// this directory.

#include <map>
#include <string>
#include <vector>

#include "runtime/engine/placement.h"
#include "runtime/engine/scratch.h"
#include "runtime/machine/machine.h"
#include "runtime/plan/plan.h"

namespace expc::engine {

/// Parameters with data paths made absolute: the program runs in another folder than the one that the study's paths
/// start from.
llvm::json::Object absoluteParameters(const plan::Plan& plan, llvm::json::Object parameters);

/// Parameters that name the copies of data where there are any.
llvm::json::Object withCopies(llvm::json::Object parameters, const std::map<std::string, ScratchCopy>& copies);

/// Completes `request`, whose specification has the point's parameters: command, folder, a slot of all the devices for
/// each node, environment (`variables`, then what expc sets itself; nothing is inherited), parameters (made absolute).
/// A point without a parameter `gpus` may use the cores of every slot: trials run one at a time, and how many threads
/// it takes is the program's business. Only where it has a parameter `nodes` there are variables that tell the
/// processes of each other, who meet at `address`.
void completeForCommand(TrialRequest& request, const plan::Plan& plan, const plan::Point& point,
                        const std::vector<NodePart>& parts, const std::string& address, const std::string& folder,
                        const std::vector<std::string>& variables);

}  // namespace expc::engine
