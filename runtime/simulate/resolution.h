#pragma once

// Finds the numbers that a metric can be read as: multiples of 2 % up to 100 % for the accuracy on 50 items,
// microseconds for a printed time. Stored values come in, rounded values go out, so that drawn values tie as often as
// measured ones do.

#include <cmath>
#include <vector>

namespace expc::simulate {

/// The grid that values are rounded to: multiples of a step, not below zero and, for a share, not above 1, if no
/// stored value was. A multiple that was seen is returned as that very double, so values that are equal on paper
/// are equal.
class Resolution {
 public:
  /// No grid: values stay as they are.
  Resolution() = default;
  /// The step is the largest number of which all `values` are multiples, up to rounding. There is none for fewer
  /// than three values, for values that do not vary, or if it is below a thousandth of their range. There is none
  /// either for two or three different values that never tie, because any two numbers have a common step.
  Resolution(std::vector<double> values, bool share);

  double step() const { return step_; }  // 0: none
  /// The multiple of the step that is nearest to `value`, inside the range of possible values.
  double rounded(double value) const;

 private:
  std::vector<double> seen_;  // ascending, each once
  double step_ = 0, per_unit_ = 0;
  double least_ = -INFINITY, most_ = INFINITY;
};

}  // namespace expc::simulate
