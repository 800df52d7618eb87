#pragma once

// Reads the records that processes on simulated GPUs leave (nullgpu/core/counters_api.h).

#include <string>
#include <vector>

#include "nullgpu/core/counters_api.h"
#include "runtime/protocol/trial.h"

namespace expc::rehearsal {

/// The records of all processes in a folder, by rank and then by process.
std::vector<nullgpu_record> recordsIn(const std::string& folder);

/// The counts of whole processes, those without a card left out. `steps` is 1.
protocol::Rehearsed rehearsedOf(const std::vector<nullgpu_record>& records);

/// The card that a process asked for more memory than it had, and the bytes that it would need at least; "" if no
/// process did.
std::string lackOfMemory(const std::vector<nullgpu_record>& records);

}  // namespace expc::rehearsal
