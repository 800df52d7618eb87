#pragma once

namespace expc::base {

/// A two-sided interval. `confidence` is the level that it attains at least; exact methods attain more than was
/// asked for.
struct Interval {
  double low = 0, high = 0;
  double confidence = 0.95;
};

}  // namespace expc::base
