#include "runtime/stats/nested_intervals.h"

namespace expc::stats {

std::optional<Interval> NestedIntervals::interval(double confidence) const {
  const auto past = std::partition_point(
      entries_.begin(), entries_.end(), [&](const Entry& entry) { return significant(entry.alpha, 1.0 - confidence); });
  if (past == entries_.begin()) return std::nullopt;
  const Entry& entry = *std::prev(past);
  return Interval{entry.low, entry.high, 1.0 - entry.alpha};
}

double NestedIntervals::smallestAlpha(const std::function<bool(double, double)>& holds) const {
  const auto first = std::partition_point(entries_.begin(), entries_.end(),
                                          [&](const Entry& entry) { return !holds(entry.low, entry.high); });
  return first == entries_.end() ? 1.0 : first->alpha;
}

NestedIntervals NestedIntervals::mapped(const std::function<double(double)>& increasing) const {
  NestedIntervals result = *this;
  if (result.estimate_) result.estimate_ = increasing(*result.estimate_);
  for (Entry& entry : result.entries_) {
    entry.low = increasing(entry.low);
    entry.high = increasing(entry.high);
  }
  return result;
}

}  // namespace expc::stats
