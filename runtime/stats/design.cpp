#include "runtime/stats/design.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>
#include <utility>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"

namespace expc::stats {

/// The smallest two-sided level that n pairs can reach is 2 / 2^n: all signs alike. Holm asks alpha / cells of the
/// smallest p-value.
unsigned minimumPairs(double confidence, unsigned cells) {
  const double alpha = (1.0 - confidence) / std::max(1u, cells);
  unsigned n = 1;
  // The bound of 1000 only ends the loop for a confidence of 1, which no number of pairs reaches.
  while (!significant(std::ldexp(2.0, -int(n)), alpha) && n < 1000) ++n;
  return n;
}

namespace {

/// Mean half-width over samples of `n` standard normal values. The cost of a sample grows with its Walsh averages,
/// so large samples are drawn less often; their half-widths scatter less, so the mean stays within 1 %.
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
  if (pairs < minimumPairs(confidence)) return INFINITY;
  const double sigma = std::numbers::sqrt2 * noise;
  if (pairs > kExactPairs)
    return sigma * normalQuantile(0.5 + confidence / 2) * std::sqrt(std::numbers::pi / 3 / pairs);
  // Each number of pairs is simulated once: pairsToFind and the checks of claims ask for the same few again. The
  // lock is held meanwhile, so that a second thread waits instead of simulating the same.
  static std::mutex mutex;
  static std::map<std::pair<unsigned, double>, double> cache;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = cache.try_emplace({pairs, confidence}, 0);
  if (fresh) at->second = simulateHalfWidth(pairs, confidence);
  return sigma * at->second;
}

double chanceToFind(double effect, double noise, unsigned pairs, double confidence) {
  // The estimate is taken as normal about log(1 + effect), so the interval excludes 0 if the estimate lies beyond
  // the expected half-width. The standard error is asymptotic (efficiency 3/pi), also below kExactPairs.
  const double error = std::numbers::sqrt2 * noise * std::sqrt(std::numbers::pi / 3 / pairs);
  const double beyond = std::log1p(effect) - expectedHalfWidth(noise, pairs, confidence);
  return error > 0 ? 0.5 * std::erfc(-beyond / error / std::numbers::sqrt2) : double(beyond > 0);
}

unsigned pairsToFind(double effect, double noise, double chance, double confidence) {
  constexpr unsigned kMost = 100'000;
  // Doubling finds a range that holds the answer, bisection narrows it.
  unsigned low = minimumPairs(confidence) - 1, high = low;  // the chance grows with the pairs
  do high = std::min(kMost, 2 * high);
  while (chanceToFind(effect, noise, high, confidence) < chance && high < kMost);
  if (chanceToFind(effect, noise, high, confidence) < chance) return 0;
  while (high - low > 1) {
    const unsigned middle = low + (high - low) / 2;
    (chanceToFind(effect, noise, middle, confidence) < chance ? low : high) = middle;
  }
  return high;
}

}  // namespace expc::stats
