#pragma once

// Verdicts that are looked at more than once: how much of alpha each look may spend.

#include <span>
#include <utility>
#include <vector>

namespace expc::stats {

/// How much of a two-sided `alpha` may be spent once `fraction` (0..1) of the information is in: alpha ln(1 + (e-1)
/// fraction), which is near Pocock's boundary and so lets an early look decide. Source: Lan & DeMets 1983, "Discrete
/// sequential boundaries for clinical trials"; Jennison & Turnbull 2000, §7.2.
double spentAlpha(double alpha, double fraction);

/// The levels of the last of several looks. A test at `nominal(alpha)` there, after the same was done at each look
/// before, rejects somewhere with a probability of at most alpha: the statistics of the looks are those of a Brownian
/// motion (Armitage, McPherson & Rowe 1969 give the recursion), which signed ranks of growing samples are near.
class LookLevels {
 public:
  /// One look at all there is: every level is itself.
  LookLevels() = default;
  /// `fractions` of the information at each look, rising, above 0 and at most 1; the last is that of this look.
  explicit LookLevels(std::span<const double> fractions);

  double nominal(double alpha) const;
  /// The inverse: the smallest alpha at which a p-value of this look is significant; 1 for one that never is.
  double overall(double p) const;

 private:
  std::vector<std::pair<double, double>> table_;  // logarithms of alpha and nominal, both rising; empty: the identity
};

/// The two-sided nominal level of each look; `fractions` as above.
std::vector<double> nominalLevels(double alpha, std::span<const double> fractions);

}  // namespace expc::stats
