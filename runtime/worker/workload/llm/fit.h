#pragma once

#include <string>

#include "runtime/worker/llama/config.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// Bytes that each of `ranks` ranks surely holds: its part of the weights, and of what is trained gradients and the
/// optimiser's state. Activations, adapters and what is gathered come on top (docs/memory-model.md).
double leastBytes(const llama::Config& config, const Parameters& parameters, unsigned ranks);

/// Why the ranks of this host cannot hold that, with the way out; "" if they can, as far as this says. `memory` is the
/// host's in bytes, `local_ranks` share it.
std::string whyTooLarge(const llama::Config& config, const Parameters& parameters, unsigned ranks, unsigned local_ranks,
                        double memory);

/// Throws TooLarge with that before anything is made of the model, for ranks that compute on the CPU. A host whose
/// memory runs out ends whatever process it likes; on a GPU the allocator says so, and the point is infeasible.
void requireFit(const llama::Config& config, const Parameters& parameters, unsigned ranks);

}  // namespace expc::workload::llm
