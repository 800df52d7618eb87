#pragma once

#include <llvm/Support/Error.h>

#include "runtime/plan/trial.h"
#include "runtime/worker/device/device.h"

namespace expc::workload {

/// Keeps `device` busy with products of random matrices for the setting "seconds" of `spec` (runtime/plan/trial.h).
/// The error says what is wrong with the setting; torch's exceptions leave it.
llvm::Error heatUp(device::Device& device, const plan::TrialSpec& spec);

}  // namespace expc::workload
