#pragma once

// Procedures that several estimators and judgements share: Holm's levels, ranks, values by session, outliers, and the
// bound after trials without a failure. Values come in without records; what they mean is left to judge.

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace expc::stats {

/// Holm's step-down procedure (Holm 1979): the level that each of the hypotheses with these p-values is compared with
/// so that the chance of any false rejection stays below `alpha`. The i-th smallest p (from 0) gets alpha / (m - i)
/// while all before it are rejected; from the first that is not, all get that one's level. A hypothesis is rejected iff
/// significant(p, level). For the claim that at least `least` of them are false no level is stricter than
/// alpha / (m - least + 1), that of the partial conjunction (Benjamini and Heller 2008).
std::vector<double> holmLevels(std::span<const double> p_values, double alpha, size_t least = 1);

/// The p-value of the claim that at least `least` of the hypotheses with these p-values are false, whatever their
/// dependence: (m - least + 1) times the `least`-th smallest p (Benjamini and Heller 2008). All of them take the
/// largest p, one of them the first step of Holm.
double partialConjunction(std::span<const double> p_values, size_t least);

/// Subtracts from each value the mean of its group. `group_of(i)` names the group of value i by any key that a map
/// can order. Returns each group's mean and number of values.
template <class GroupOf>
auto takeMeans(std::vector<double>& values, GroupOf group_of) {
  std::map<decltype(group_of(size_t{0})), std::pair<double, size_t>> groups;
  for (size_t i = 0; i < values.size(); ++i) {
    auto& [mean, count] = groups[group_of(i)];
    mean += values[i];
    ++count;
  }
  for (auto& [name, group] : groups) group.first /= double(group.second);
  for (size_t i = 0; i < values.size(); ++i) values[i] -= groups[group_of(i)].first;
  return groups;
}

double meanOf(std::span<const double> values);

/// Blom's normal score of a rank among n values: the quantile of (rank - 3/8) / (n + 1/4).
double normalScore(double rank, size_t n);

/// The values of each session, in their order; `sessions[i]` is that of `values[i]`.
std::map<int64_t, std::vector<double>> bySession(std::span<const double> values, std::span<const int64_t> sessions);

/// Whether a value is NaN. Estimators return an empty result then, since NaN has no rank.
bool hasNan(std::span<const double> values);

/// Ranks from 1; values that tie share their mean.
std::vector<double> ranksOf(std::span<const double> values);

/// Upper bound on the probability of a failure after `n` trials without one, with `confidence`: 1 - (1 -
/// confidence)^(1/n) (Clopper & Pearson 1934 with no event). 0 of 10: 26 % at 95 %. 1 for n = 0.
double zeroFailuresBound(unsigned n, double confidence = 0.95);

/// Tukey's outer fences, 3 interquartile ranges beyond the quartiles (Tukey 1977: "far out"; the inner ones flag a
/// value of every fourth sample of ten that is normal). Quartiles are by linear interpolation between order statistics.
/// Takes at least one value, and no NaN.
std::pair<double, double> tukeyFences(std::span<const double> values);

/// Indices of values outside the fences. Flagged, never dropped. None for fewer than 4 values or a NaN; an infinite
/// value is outside unless it moves a quartile to infinity.
std::vector<unsigned> tukeyOutliers(std::span<const double> values);

}  // namespace expc::stats
