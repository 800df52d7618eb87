#pragma once

#include <memory>

#include "runtime/worker/profile/probe.h"

namespace expc::profile {

/// A GPU's totals from CUPTI's activity records, summed by a thread of CUPTI's. Where CUPTI does not start, or another
/// tool has it, the findings have no totals and a note that says why. One at a time in a process.
std::unique_ptr<Probe> makeCuptiProbe();

}  // namespace expc::profile
