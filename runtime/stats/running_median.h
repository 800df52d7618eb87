#pragma once

// judge::Index uses it for typical durations: it gets the length of each valid trial and is asked for the median
// between them.

#include <functional>
#include <optional>
#include <queue>
#include <vector>

namespace expc::stats {

/// The median of values that arrive one at a time; for an even number, the upper of the two middle values. It keeps
/// two heaps: adding a value costs the logarithm of their number, the median nothing.
class RunningMedian {
 public:
  /// Takes a value, which must not be NaN.
  void add(double value) {
    if (upper_.empty() || value >= upper_.top())
      upper_.push(value);
    else
      lower_.push(value);
    // Both halves of an even number have the same size; the upper half's least value is the upper middle.
    if (upper_.size() > lower_.size() + 1)
      lower_.push(upper_.top()), upper_.pop();
    else if (lower_.size() > upper_.size())
      upper_.push(lower_.top()), lower_.pop();
  }

  /// The median, or nothing if there is no value.
  std::optional<double> median() const { return upper_.empty() ? std::nullopt : std::optional(upper_.top()); }
  size_t size() const { return upper_.size() + lower_.size(); }

 private:
  std::priority_queue<double, std::vector<double>, std::greater<>> upper_;  // the smallest is on top
  std::priority_queue<double> lower_;                                       // the largest is on top
};

}  // namespace expc::stats
