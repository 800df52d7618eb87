#pragma once

// Spends alpha over several looks at growing data: gives the nominal level of each look, so that all looks together
// make a false decision with probability alpha at most. Which looks there were is left to judge/looks.cpp.

#include <span>
#include <utility>
#include <vector>

namespace expc::stats {

/// The share of alpha that may be spent once `fraction` (0..1) of the planned information is there: ln(1 + (e-1)
/// fraction), which is near Pocock's boundary and so lets an early look decide. Source: Lan & DeMets 1983,
/// "Discrete sequential boundaries for clinical trials"; Jennison & Turnbull 2000, §7.2.
double plannedShare(double fraction);

/// The share of `alpha` that one look at `values` pairs certainly leaves unspent, if it tests at level alpha by
/// Holm over up to `tests` hypotheses. Exact tests have few levels, so they attain less than they are given. At
/// least kLeastLeft. `values` is at most kExactPairs.
double unspentShare(double alpha, unsigned values, unsigned tests);
/// The share that is taken for unplanned looks even if a test leaves nothing: 95 % becomes 94.99 %.
inline constexpr double kLeastLeft = 0.002;

/// A look at growing data.
struct LookAt {
  double values = 0;  // how many there are, in any unit: only ratios matter
  double share = 1;   // of alpha that may have been spent up to it, from 0 to 1; never less than at the look before
};

/// The levels of the last of several looks. If each look tests at its own level, all of them together reject a true
/// hypothesis with a probability of at most alpha times the last share. The looks' statistics are taken as those of
/// a Brownian motion, which signed ranks of growing samples approach; the levels follow by the recursion of
/// Armitage, McPherson & Rowe 1969.
class LookLevels {
 public:
  /// A single look at everything: every level is itself.
  LookLevels() = default;
  /// The looks in the order of rising values; the last one is the look at hand.
  explicit LookLevels(std::span<const LookAt> looks);

  /// The level at which a test at this look spends `alpha`.
  double nominal(double alpha) const;
  /// The inverse: the smallest alpha at which a p-value at this look is significant; 1 if there is none.
  double overall(double p) const;

 private:
  std::vector<std::pair<double, double>> table_;  // logarithms of alpha and nominal, both rising; empty: the identity
};

/// The two-sided nominal level of each look, if all together may spend `alpha`.
std::vector<double> nominalLevels(double alpha, std::span<const LookAt> looks);

}  // namespace expc::stats
