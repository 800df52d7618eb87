#include "runtime/stats/walsh_averages.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace expc::stats {
namespace {

constexpr uint64_t kSign = uint64_t(1) << 63;

/// Numbers in the order of the doubles, from -inf to +inf.
uint64_t rankOf(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits & kSign ? ~bits : bits | kSign;
}
double valueOf(uint64_t rank) { return std::bit_cast<double>(rank & kSign ? rank & ~kSign : ~rank); }

}  // namespace

WalshAverages::WalshAverages(std::span<const double> values, double undefined, size_t stored)
    : values_(values.begin(), values.end()), undefined_(undefined) {
  std::ranges::sort(values_);
  if (size() > stored) return;
  for (size_t i = 0; i < values_.size(); ++i)
    for (size_t j = i; j < values_.size(); ++j) sorted_.push_back(average(i, j));
  std::ranges::sort(sorted_);
}

double WalshAverages::average(size_t i, size_t j) const {
  const double average = middle(values_[i], values_[j]);
  return std::isnan(average) ? undefined_ : average;
}

/// Averages grow with both members, also as they are rounded: the larger one member, the fewer of the other fit.
size_t WalshAverages::countAtMost(double bound) const {
  size_t count = 0, end = values_.size();
  for (size_t i = 0; i < end; ++i) {
    while (end > i && average(i, end - 1) > bound) --end;
    count += end - i;
  }
  return count;
}

double WalshAverages::at(size_t k) const {
  if (!sorted_.empty()) return sorted_[k] + 0.0;  // one zero, without a sign
  uint64_t low = rankOf(values_.front()), high = rankOf(values_.back());
  while (low < high) {
    const uint64_t halfway = low + (high - low) / 2;
    if (countAtMost(valueOf(halfway)) > k)
      high = halfway;
    else
      low = halfway + 1;
  }
  return valueOf(low) + 0.0;
}

}  // namespace expc::stats
