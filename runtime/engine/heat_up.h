#pragma once

#include <llvm/Support/Error.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/engine/interrupts.h"
#include "runtime/engine/launcher.h"
#include "runtime/machine/machine.h"

namespace expc::engine {

/// Keeps every core of the slots busy for `seconds`, or until `ends` says so, which is asked several times a second.
void heatUp(const std::vector<machine::Slot>& slots, double seconds, const std::function<bool()>& ends);

/// Lets a process of the worker for each GPU among the slots keep it busy for `seconds`, all at the same time (the
/// start of CUDA comes on top). Says why that did not work, "" if it did. `tick` and the error are those of runTrial.
llvm::Expected<std::string> heatGpus(Launcher& launcher, const machine::Machine& machine,
                                     const std::vector<machine::Slot>& slots, const std::vector<unsigned>& nodes,
                                     const std::string& log_prefix, double seconds, const Interrupts& interrupts,
                                     const std::function<llvm::Error()>& tick);

}  // namespace expc::engine
