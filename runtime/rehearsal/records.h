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

/// The bytes of memory that a card needs at least to grant the refused request.
inline uint64_t leastCard(const nullgpu_card_record& card) { return card.held + card.refused; }

/// Why a program that used no simulated GPU may have found none.
inline constexpr char kStandFor[] =
    "Simulated GPUs stand in for the libraries of CUDA 12 and 13, so a program built for another CUDA, or without it, "
    "does not see them";

/// The card that a process asked for more memory than it had, and the bytes that it would need at least; "" if no
/// process did.
std::string lackOfMemory(const std::vector<nullgpu_record>& records);

}  // namespace expc::rehearsal
