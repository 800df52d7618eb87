#pragma once

// Order and seed of a block: functions of the plan's seed, the study, the kind and the block's number alone.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::engine {

/// The seed that all trials of a block share (initial weights, data order, dropout): 53 bits, so that any JSON reader
/// keeps it.
uint64_t blockSeed(uint64_t design_seed, const std::string& study, plan::TrialKind kind, uint64_t number);

/// `places` in the order of a block (Fisher and Yates, from the block's seed).
std::vector<plan::Place> blockOrder(std::vector<plan::Place> places, uint64_t block_seed);

}  // namespace expc::engine
