#pragma once

// The trial boundary: what happens around a workload in one rank. The wall behind which torch's exceptions stay.

#include <chrono>
#include <vector>

#include "runtime/plan/trial.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload {

/// What this worker was built with.
struct Capabilities {
  std::vector<Workload> workloads;
  std::vector<device::Backend> backends;
};

/// Runs one rank of a trial, found by RANK and the other variables, and writes its events. Returns the exit code: 0
/// when it ended well. After anything else the caller must leave by _exit(): communicators that broke are not taken
/// down.
int runRank(const Capabilities& capabilities, const plan::TrialSpec& spec, int event_fd,
            std::chrono::steady_clock::time_point process_start);

}  // namespace expc::workload
