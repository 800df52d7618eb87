#pragma once

namespace expc::base {

/// A two-sided interval; `confidence` is what it attains at least (exact methods attain more than asked).
struct Interval {
  double low = 0, high = 0;
  double confidence = 0.95;
};

}  // namespace expc::base
