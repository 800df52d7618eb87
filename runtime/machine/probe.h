#pragma once

// Finds out what hardware this host has. No torch, no CUDA runtime; a machine without a GPU or without NVML is
// described just the same.

#include <optional>

#include "runtime/machine/machine.h"

namespace expc::plan {
class JsonRecord;
}

namespace expc::machine {

/// Looks; never fails: what cannot be read stays empty and is noted. With `null_gpus` the GPUs are null cards alone,
/// without it never.
Machine probe(const std::optional<NullGpus>& null_gpus = std::nullopt);

/// For the report, the store and the engine of another node: all but `null_gpus`, which is what was asked for.
void describe(plan::JsonRecord& io, Machine& machine);

}  // namespace expc::machine
