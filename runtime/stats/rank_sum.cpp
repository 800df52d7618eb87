// The exact distribution is computed once for each pair of sizes; the intervals are read off the sorted
// differences, of which there are at most 2,500 where the distribution is exact.

#include "runtime/stats/rank_sum.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/stats/distributions.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/walsh_averages.h"

namespace expc::stats {
namespace {

/// P(U <= u) for samples of m and n values, in probabilities instead of counts: the number of arrangements exceeds
/// 2^53 from 29 values a side on.
std::vector<double> cumulativeCounts(unsigned m, unsigned n) {
  std::vector<std::vector<double>> row(n + 1, {1.0});  // of i values against j, by j; i = 0
  for (unsigned i = 1; i <= m; ++i) {
    std::vector<std::vector<double>> next(n + 1);
    next[0] = {1.0};
    for (unsigned j = 1; j <= n; ++j) {
      std::vector<double> chances(size_t(i) * j + 1);
      // The largest of all i + j values belongs to the first sample with chance i / (i + j), and then exceeds all j
      // values of the second.
      const double of_first = double(i) / (i + j);
      for (size_t u = 0; u < chances.size(); ++u) {
        if (u >= j && u - j < row[j].size()) chances[u] += of_first * row[j][u - j];
        if (u < next[j - 1].size()) chances[u] += (1 - of_first) * next[j - 1][u];
      }
      next[j] = std::move(chances);
    }
    row = std::move(next);
  }
  std::vector<double> cdf = std::move(row[n]);
  // Rounding may carry the last sums slightly above 1.
  for (size_t u = 1; u < cdf.size(); ++u) cdf[u] = std::min(1.0, cdf[u] + cdf[u - 1]);
  return cdf;
}

/// The probability that the statistic is at most u.
std::function<double(size_t)> probability(unsigned m, unsigned n) {
  if (m <= kExactPairs && n <= kExactPairs) return [cdf = rankSumCdf(m, n)](size_t u) { return (*cdf)[u]; };
  // Normal approximation without ties: mean m n / 2, variance m n (m + n + 1) / 12, with continuity correction.
  const double mean = double(m) * n / 2, deviation = std::sqrt(double(m) * n * (m + n + 1.0) / 12);
  return [=](size_t u) { return normalCdf((double(u) + 0.5 - mean) / deviation); };
}

}  // namespace

std::shared_ptr<const std::vector<double>> rankSumCdf(unsigned m, unsigned n) {
  static std::mutex mutex;
  static std::map<std::pair<unsigned, unsigned>, std::shared_ptr<const std::vector<double>>> known;
  const std::scoped_lock lock(mutex);
  auto& cdf = known[{m, n}];
  if (!cdf) cdf = std::make_shared<const std::vector<double>>(cumulativeCounts(m, n));
  return cdf;
}

NestedIntervals rankSum(std::span<const double> treated, std::span<const double> baseline) {
  if (treated.empty() || baseline.empty() || hasNan(treated) || hasNan(baseline)) return {};
  auto differences = std::make_shared<std::vector<double>>();
  differences->reserve(treated.size() * baseline.size());
  // The difference of two equal infinities (two timeouts) is 0, not NaN.
  for (const double one : treated)
    for (const double other : baseline) differences->push_back(one == other ? 0 : one - other);
  std::ranges::sort(*differences);
  const size_t all = differences->size();
  const double median = middle((*differences)[(all - 1) / 2], (*differences)[all / 2]);
  return {std::isnan(median) ? std::nullopt : std::optional(median), (all + 1) / 2,
          [below = probability(unsigned(treated.size()), unsigned(baseline.size()))](size_t k) { return 2 * below(k); },
          [differences, all](size_t k) { return std::pair((*differences)[k], (*differences)[all - 1 - k]); }};
}

}  // namespace expc::stats
