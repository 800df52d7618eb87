#include "runtime/stats/change_points.h"

#include <algorithm>
#include <cmath>

#include "runtime/stats/distributions.h"
#include "runtime/stats/nested_intervals.h"
#include "runtime/stats/procedures.h"

namespace expc::stats {
namespace {

constexpr unsigned kOrders = 4999;

/// The largest standardised distance of the sum of the first ranks from what it is in a random order, and where.
std::pair<double, size_t> largest(const std::vector<double>& ranks) {
  const auto n = static_cast<double>(ranks.size());
  std::pair<double, size_t> found{0, 0};
  double sum = 0;
  for (size_t k = 1; k + kLeastSegment <= ranks.size(); ++k) {
    sum += ranks[k - 1];
    if (k < kLeastSegment) continue;
    const auto first = static_cast<double>(k);
    const double distance = std::abs(sum - first * (n + 1) / 2) / std::sqrt(first * (n - first) * (n + 1) / 12);
    if (distance > found.first) found = {distance, k};
  }
  return found;
}

void findAll(std::span<const double> values, size_t offset, double alpha, std::vector<Change>& found) {
  const auto change = likeliestChange(values);
  if (!change || !significant(change->p, alpha)) return;
  findAll(values.first(change->at), offset, alpha, found);
  found.push_back({offset + change->at, change->p});
  findAll(values.subspan(change->at), offset + change->at, alpha, found);
}

}  // namespace

std::optional<Change> likeliestChange(std::span<const double> values) {
  if (values.size() < 2 * kLeastSegment || hasNan(values)) return std::nullopt;
  std::vector<double> ranks = ranksOf(values);
  const auto [seen, at] = largest(ranks);
  if (at == 0) return Change{kLeastSegment, 1};  // all are alike
  NormalStream stream(values.size());
  unsigned as_large = 1;  // the order that was seen is one of them
  for (unsigned order = 0; order < kOrders; ++order) {
    for (size_t i = ranks.size(); i > 1; --i)
      std::swap(ranks[i - 1], ranks[std::min(i - 1, static_cast<size_t>(stream.uniform() * static_cast<double>(i)))]);
    as_large += largest(ranks).first >= seen * (1 - 1e-12);
  }
  return Change{at, as_large / (kOrders + 1.0)};
}

std::vector<Change> changePoints(std::span<const double> values, double alpha) {
  std::vector<Change> found;
  findAll(values, 0, alpha, found);
  return found;
}

}  // namespace expc::stats
