#pragma once

// Spends alpha over several looks at growing data: the nominal level of each look. Which looks there were is left to
// analysis/looks.cpp.

#include <span>
#include <utility>
#include <vector>

namespace expc::stats {

/// The share of alpha that may be spent once `fraction` (0..1) of the information that was planned is in: ln(1 + (e-1)
/// fraction), which is near Pocock's boundary and so lets an early look decide. Source: Lan & DeMets 1983, "Discrete
/// sequential boundaries for clinical trials"; Jennison & Turnbull 2000, §7.2.
double plannedShare(double fraction);

/// The share of `alpha` that is certainly left over by one look at `values` pairs at the level alpha, by Holm over up
/// to `tests` of them: exact tests have few levels, and what they attain lies below what is asked. At least kLeastLeft.
/// `values` is at most kExactPairs.
double unspentShare(double alpha, unsigned values, unsigned tests);
/// Where nothing is left over for certain, so much is still taken for looks that nobody planned: 95 % are 94.99 % then.
inline constexpr double kLeastLeft = 0.002;

/// A look at growing data.
struct LookAt {
  double values = 0;  // that are there, in any unit: only their ratios matter
  double share = 1;   // of alpha that may have been spent up to it, from 0 to 1; never less than at the look before
};

/// The levels of the last of several looks. A test at `nominal(alpha)` there, after the same was done at each look
/// before, rejects somewhere with a probability of at most alpha times its share: the statistics of the looks are those
/// of a Brownian motion (Armitage, McPherson & Rowe 1969 give the recursion), which signed ranks of growing samples are
/// near.
class LookLevels {
 public:
  /// One look at all there is: every level is itself.
  LookLevels() = default;
  /// The looks by rising values; the last is this one.
  explicit LookLevels(std::span<const LookAt> looks);

  double nominal(double alpha) const;
  /// The inverse: the smallest alpha at which a p-value of this look is significant; 1 for one that never is.
  double overall(double p) const;

 private:
  std::vector<std::pair<double, double>> table_;  // logarithms of alpha and nominal, both rising; empty: the identity
};

/// The two-sided nominal level of each look.
std::vector<double> nominalLevels(double alpha, std::span<const LookAt> looks);

}  // namespace expc::stats
