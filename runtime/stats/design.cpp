#include "runtime/stats/design.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numbers>
#include <utility>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"

namespace expc::stats {

unsigned minimumPairs(double confidence, unsigned cells) {
  const double alpha = (1.0 - confidence) / std::max(1u, cells);
  unsigned n = 1;
  while (!significant(std::ldexp(2.0, -static_cast<int>(n)), alpha) && n < 1000) ++n;
  return n;
}

namespace {

/// Mean half-width over samples of `n` standard normal values.
double simulateHalfWidth(unsigned n, double confidence) {
  const unsigned walsh = n * (n + 1) / 2;
  const unsigned replicates = std::clamp(400000u / walsh, 300u, 8000u);
  NormalStream stream(0x5eed0000u + n);
  std::vector<double> sample(n);
  double sum = 0;
  for (unsigned r = 0; r < replicates; ++r) {
    for (double& value : sample) value = stream.next();
    const auto interval = signedRank(sample).interval(confidence);
    sum += (interval->high - interval->low) / 2;
  }
  return sum / replicates;
}

}  // namespace

double expectedHalfWidth(double noise, unsigned pairs, double confidence) {
  if (pairs < minimumPairs(confidence)) return std::numeric_limits<double>::infinity();
  const double sigma = std::numbers::sqrt2 * noise;
  if (pairs > kExactPairs)
    return sigma * normalQuantile(0.5 + confidence / 2) * std::sqrt(std::numbers::pi / 3 / pairs);
  static std::mutex mutex;
  static std::map<std::pair<unsigned, double>, double> cache;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = cache.try_emplace({pairs, confidence}, 0);
  if (fresh) at->second = simulateHalfWidth(pairs, confidence);
  return sigma * at->second;
}

}  // namespace expc::stats
