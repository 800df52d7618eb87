// Boost.Math has the distributions in general. The exact ones for small samples are counted here, because verdicts
// compare their tails with alpha and an approximation would decide some of them differently.

#include "runtime/stats/distributions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <mutex>
#include <numbers>
#include <utility>

#include "runtime/base/split_mix.h"

namespace expc::stats {

namespace {

/// Boost computes with long doubles by default, whose functions take several times as long. Doubles give 14 digits.
using Doubles = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using Normal = boost::math::normal_distribution<double, Doubles>;
using Student = boost::math::students_t_distribution<double, Doubles>;

}  // namespace

double normalCdf(double z) { return boost::math::cdf(Normal(), z); }

double normalQuantile(double p) { return boost::math::quantile(Normal(), p); }

/// A quantile takes microseconds, and judges ask for the same few of them for thousands of cells and simulated
/// studies. So the last results are kept, each in the one place that its arguments have.
double studentQuantile(double alpha, double freedoms) {
  constexpr double kLeast = 1e-300;  // the least tail for which the quantile is still a finite number
  struct Known {
    double level = 0, freedoms = 0, quantile = 0;
  };
  thread_local std::array<Known, 1024> all;
  const double level = std::clamp(alpha, kLeast, 1.0);
  uint64_t state = std::bit_cast<uint64_t>(level) + 31 * std::bit_cast<uint64_t>(freedoms);
  Known& known = all[base::splitMix(state) % all.size()];
  if (known.level != level || known.freedoms != freedoms)
    known = {level, freedoms, boost::math::quantile(boost::math::complement(Student(freedoms), level / 2))};
  return known.quantile;
}

double fisherTail(double ratio, double freedoms, double freedoms_below) {
  return boost::math::cdf(boost::math::complement(boost::math::fisher_f(freedoms, freedoms_below), ratio));
}

double fairCoinCdf(double k, double n) {
  if (k >= n) return 1.0;
  if (n <= kExactPairs && k >= 0 && k == std::floor(k) && n == std::floor(n)) {
    double ways = 1, below = 0;  // binomial coefficients below 2^53, so exact
    for (double heads = 0; heads <= k; ++heads) {
      below += ways;
      ways = ways * (n - heads) / (heads + 1);
    }
    return std::ldexp(below, -int(n));
  }
  return boost::math::cdf(boost::math::binomial_distribution<double>(n, 0.5), k);
}

std::shared_ptr<const std::vector<double>> signedRankCdf(unsigned n) {
  assert(n <= kExactPairs && "the exact distribution is tabulated up to kExactPairs");
  static std::mutex mutex;
  // Callers keep the shared pointer, so the lock covers only the look-up and the first computation of each n.
  static std::array<std::shared_ptr<const std::vector<double>>, kExactPairs + 1> cache;
  const std::lock_guard lock(mutex);
  if (cache[n]) return cache[n];
  const size_t last = n * (n + 1) / 2;
  std::vector<double> count(last + 1, 0.0);
  count[0] = 1;
  // Each rank is either in the sum or not. Sums are visited downwards, so that a rank is counted once.
  for (size_t rank = 1; rank <= n; ++rank) {
    for (size_t sum = last; sum >= rank; --sum) count[sum] += count[sum - rank];
  }
  double below = 0;
  for (double& value : count) {
    below += value;
    value = std::ldexp(below, -int(n));
  }
  cache[n] = std::make_shared<const std::vector<double>>(std::move(count));
  return cache[n];
}

double signedRankCdfApproximate(double t, unsigned n) {
  const double m = n;
  const double mean = m * (m + 1) / 4;
  const double deviation = std::sqrt(m * (m + 1) * (2 * m + 1) / 24);
  // The statistic is a whole number: half a step is added (continuity correction).
  return normalCdf((t + 0.5 - mean) / deviation);
}

/// 52 bits and half a step: never 0 (whose logarithm is infinite) and never 1.
double NormalStream::uniform() { return (double(base::splitMix(state_) >> 12) + 0.5) * 0x1p-52; }

double NormalStream::next() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace expc::stats
