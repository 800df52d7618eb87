#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "compiler/check/model.h"

namespace expc::expand {

/// A point by its levels: for each factor of the study an index into its declared levels.
using Levels = std::span<const unsigned>;

/// A factor that is not active at the point: it has no level there.
inline constexpr unsigned kAbsent = ~0u;
/// A factor that is not chosen yet.
inline constexpr unsigned kOpen = ~0u - 1;

/// A number for the levels of some factors, another one for others; nothing where it would not fit.
std::optional<uint64_t> keyOf(const check::Study& study, std::span<const unsigned> factors, Levels levels);

}  // namespace expc::expand
