#pragma once

#include <span>

namespace expc::expand {

/// A point by its levels: for each factor of the study an index into its declared levels.
using Levels = std::span<const unsigned>;

/// A factor that is not active at the point: it has no level there.
inline constexpr unsigned kAbsent = ~0u;
/// A factor that is not chosen yet.
inline constexpr unsigned kOpen = ~0u - 1;

}  // namespace expc::expand
