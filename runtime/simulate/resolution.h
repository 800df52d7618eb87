#pragma once

// Finds the numbers that a metric can be read as: multiples of 2 % up to 100 % for the accuracy on 50 items,
// microseconds for a printed time. Stored values come in, rounded values go out, so that drawn values tie as often as
// measured ones do.

#include <limits>
#include <vector>

namespace expc::simulate {

/// The grid that values are rounded to: multiples of a step, not below zero and, for a share, not above 1 where no
/// stored value was. A multiple that was seen is that very double, so that values which are equal on paper are equal.
class Resolution {
 public:
  /// Values are as they are.
  Resolution() = default;
  /// The step is the largest that all `values` are multiples of. None where they are fewer than three, do not vary, or
  /// it is below a thousandth of their range; and where two or three different ones never tie, since those always have
  /// one.
  Resolution(std::vector<double> values, bool share);

  double step() const { return step_; }  // 0: none
  double rounded(double value) const;

 private:
  std::vector<double> seen_;  // ascending, each once
  double step_ = 0, per_unit_ = 0;
  double least_ = -std::numeric_limits<double>::infinity(), most_ = std::numeric_limits<double>::infinity();
};

}  // namespace expc::simulate
