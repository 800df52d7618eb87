#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace expc::stats {

/// How far values scatter inside a session, and how far sessions lie apart: both standard deviations, in the values'
/// unit. `within` is pooled over the sessions, `between` is that of the sessions' means.
struct Spreads {
  double within = 0, between = 0;
  unsigned sessions = 0;
};

/// `sessions[i]` is that of `values[i]`. Absent for fewer than two sessions, where no session has two values, and where
/// a value is not finite.
std::optional<Spreads> spreads(std::span<const double> values, std::span<const int64_t> sessions);

}  // namespace expc::stats
