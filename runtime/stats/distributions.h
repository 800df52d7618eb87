#pragma once

// Null distributions, quantiles and reproducible random numbers for the estimators: statistics and sample sizes come
// in, probabilities go out. Small samples are counted exactly; intervals are left to estimators.h and rank_sum.h.

#include <cstdint>
#include <memory>
#include <vector>

namespace expc::stats {

/// Up to here the signed-rank null distribution is exact; above, its normal approximation.
inline constexpr unsigned kExactPairs = 50;

/// Standard normal distribution function and quantile (Boost.Math).
double normalCdf(double z);
double normalQuantile(double p);

/// The value that |t| of Student's distribution with `freedoms` degrees of freedom exceeds with probability `alpha`
/// (two-sided quantile).
double studentQuantile(double alpha, double freedoms);
/// P(F >= ratio) for Fisher's F with `freedoms` and `freedoms_below` degrees of freedom.
double fisherTail(double ratio, double freedoms, double freedoms_below);

/// P(X <= k) for X ~ Binomial(n, 1/2), the number of values below the median: counted, so exact, for whole numbers with
/// n <= kExactPairs; by the incomplete beta function above that and between them.
double fairCoinCdf(double k, double n);

/// P(T+ <= t) for t = 0 .. n(n+1)/2 under the null of Wilcoxon's signed-rank statistic, n <= kExactPairs, without ties.
/// Counted by dynamic programming over the subsets of {1..n} by their sum; exact in double, since 2^50 < 2^53.
/// (Hollander & Wolfe, Nonparametric Statistical Methods, §3.1.) Computed once for each n.
std::shared_ptr<const std::vector<double>> signedRankCdf(unsigned n);

/// The normal approximation of the same, with continuity correction: mean n(n+1)/4, variance n(n+1)(2n+1)/24.
double signedRankCdfApproximate(double t, unsigned n);

/// A reproducible stream of standard normal values (splitmix64, Box-Muller), the same with every standard library.
class NormalStream {
 public:
  explicit NormalStream(uint64_t seed) : state_(seed) {}
  /// Uniform in (0, 1).
  double uniform();
  /// The next standard normal value.
  double next();

 private:
  uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace expc::stats
