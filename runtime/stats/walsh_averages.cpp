// 100,000 values have 5e9 averages, so they are counted instead of stored: `known_` holds values with the number of
// averages at most as large, and each question narrows the gap between two neighbours of it until the averages
// inside fit into memory (at most twice the number of values), where they are selected directly.

#include "runtime/stats/walsh_averages.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

namespace expc::stats {
namespace {

constexpr uint64_t kSign = uint64_t(1) << 63;

/// Numbers in the order of the doubles, from -inf to +inf: flips the sign bit of positive numbers and all bits of
/// negative ones, so that unsigned comparison agrees with that of the values.
uint64_t rankOf(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  return bits & kSign ? ~bits : bits | kSign;
}
double valueOf(uint64_t rank) { return std::bit_cast<double>(rank & kSign ? rank & ~kSign : ~rank); }

/// A number between two. Halves the distance in value at first; if that makes no progress (outliers, infinities),
/// halves the number of doubles between them.
double halfway(double low, double high, int halvings) {
  constexpr int kByValue = 24;
  const double mean = low / 2 + high / 2;
  if (halvings < kByValue && low < mean && mean < high) return mean;
  const uint64_t rank = rankOf(low);
  return valueOf(rank + (rankOf(high) - rank) / 2);
}

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

/// Counts with two pointers: averages grow with both members, also after rounding, so the larger one member is, the
/// fewer of the other fit. One pass over the values.
size_t WalshAverages::countAtMost(double bound) const {
  size_t count = 0, end = values_.size();
  for (size_t i = 0; i < end; ++i) {
    while (end > i && average(i, end - 1) > bound) --end;
    count += end - i;
  }
  return count;
}

/// The k-th smallest (from 0) of the averages above `above` and up to `to`.
double WalshAverages::among(double above, double to, size_t k) const {
  std::vector<double> inside;
  size_t begin = values_.size(), end = values_.size();
  for (size_t i = 0; i < values_.size(); ++i) {
    while (begin > i && average(i, begin - 1) > above) --begin;
    while (end > i && average(i, end - 1) > to) --end;
    for (size_t j = std::max(i, begin); j < end; ++j) inside.push_back(average(i, j));
  }
  std::ranges::nth_element(inside, inside.begin() + ptrdiff_t(k));
  return inside[k];
}

double WalshAverages::at(size_t k) const {
  if (!sorted_.empty()) return sorted_[k] + 0.0;  // no negative zero
  if (known_.empty()) known_ = {{countAtMost(values_.front()), values_.front()}, {size(), values_.back()}};
  auto above = std::ranges::upper_bound(known_, k, {}, &Known::count);
  if (above == known_.begin()) return values_.front() + 0.0;
  for (int halvings = 0; above->count - std::prev(above)->count > 2 * values_.size(); ++halvings) {
    const Known below = *std::prev(above);
    const double middle = halfway(below.value, above->value, halvings);
    if (middle == below.value || middle == above->value) return above->value + 0.0;  // all that are left are equal
    // Every count is kept: interval ends are searched for at neighbouring k, and most of the halvings are the same.
    const size_t count = countAtMost(middle);
    above = known_.insert(above, {count, middle});
    if (count <= k) ++above;
  }
  const Known below = *std::prev(above);
  return among(below.value, above->value, k - below.count) + 0.0;
}

}  // namespace expc::stats
