#pragma once

// Probes the hardware of this host. There is no torch and no CUDA runtime here; a machine without GPU or NVML is
// described just the same.

#include <optional>

#include "runtime/machine/machine.h"

namespace expc::base {
class JsonRecord;
}

namespace expc::machine {

/// Probes this machine. It never fails: what cannot be read stays empty and is noted. With `null_gpus` the GPUs are
/// null cards only, without it never. For moments with one thread, since it may set environment variables.
Machine probe(const std::optional<NullGpus>& null_gpus = std::nullopt);

/// The fields as JSON, for report, store, and the engine of an agent; without `null_gpus`, which is a request and no
/// property.
void describe(base::JsonRecord& io, Machine& machine);

}  // namespace expc::machine
