#pragma once

// Null cards compute nothing, so what they measure decides nothing: neither times nor losses nor what fits into memory.

#include "runtime/analysis/judgement.h"

namespace expc::analysis {

/// Why a verdict is open.
inline constexpr const char* kOnNullCards = "measured on null cards, which compute nothing";

/// Opens every verdict of `judgement`, with kOnNullCards as its reason, and marks it. Estimates stay, and so do
/// criteria that were not asked or not run.
void withholdVerdicts(Judgement& judgement);

}  // namespace expc::analysis
