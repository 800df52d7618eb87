// A one-way analysis of variance over sessions. Within-session variance is pooled; the variance of session means is
// taken directly from the means, each weighing the same, so that it holds also for sessions of unequal length.

#include "runtime/stats/spreads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::stats {
namespace {

/// The sum of squared distances from the mean.
double squares(const std::vector<double>& values) {
  const double centre = meanOf(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum;
}

std::vector<double> meansOf(const std::map<int64_t, std::vector<double>>& groups) {
  std::vector<double> means;
  for (const auto& [session, members] : groups) means.push_back(meanOf(members));
  return means;
}

bool allFinite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

}  // namespace

std::pair<double, double> CentreOfMeans::interval(double alpha) const {
  const double reach = studentQuantile(alpha, freedoms) * error;
  return {centre - reach, centre + reach};
}

std::optional<Spreads> spreads(std::span<const double> values, std::span<const int64_t> sessions, Pairing pairing) {
  const auto groups = bySession(values, sessions);
  // Where each session has one value, nothing tells scatter within sessions from scatter between them.
  if (groups.size() < 2 || groups.size() == values.size() || !allFinite(values)) return std::nullopt;
  const std::vector<double> means = meansOf(groups);
  const auto n = double(means.size()), freedoms = n - 1, freedoms_within = double(values.size()) - n;
  double within = 0, shares = 0;  // mean of 1 / size: a session mean's variance per `within`
  double weights = 0;             // sum of squared shares of all values: 1/n if all are equal
  for (const auto& [session, members] : groups) {
    within += squares(members) / freedoms_within;
    shares += 1 / double(members.size()) / n;
    weights += std::pow(double(members.size()) / double(values.size()), 2);
  }
  const double between = squares(means) / freedoms;
  Spreads found{std::sqrt(within), std::sqrt(between), unsigned(means.size()), {}};
  std::vector<double> centres = means;
  // A single point is estimated by its median, so its sessions are represented by their medians too. Pairs have the
  // Hodges-Lehmann estimate, to which means are near enough.
  if (pairing == Pairing::Alone) {
    centres.clear();
    for (const auto& [session, members] : groups) centres.push_back(*orderStatistics(members).estimate());
  }
  found.mean = {meanOf(centres), std::sqrt(squares(centres) / freedoms / n), freedoms};
  // The limits come from simulation (docs/layers/statistics.md, "Sessions"): 0.45, and 0.7 for two sessions of one
  // point, if sessions are equally long.
  const bool two = n == 2, alone = pairing == Pairing::Alone;
  const double ratio = between > 0 ? between / (within * shares) : 0;
  const double p = std::isfinite(ratio) ? fisherTail(ratio, freedoms, freedoms_within) : 0;
  constexpr double kTwoDiffer = 0.05, kRefutes = 0.2;
  found.apart = p <= (two && !alone ? kTwoDiffer : 1 - (two ? 0.3 : 0.55) / (n * weights));
  found.refute = two || alone ? found.apart : p <= kRefutes;
  if (two && !alone) found.stretch = found.apart ? INFINITY : std::max(1.0, std::sqrt(ratio));
  return found;
}

NestedIntervals Spreads::allowFor(const NestedIntervals& intervals) const {
  if (std::isinf(stretch)) return intervals.estimateAlone();
  if (apart) return intervals.reaching([means = mean](double alpha) { return means.interval(alpha); });
  return stretch > 1 ? intervals.stretched([factor = stretch](double) { return factor; }) : intervals;
}

unsigned sessionsFor(double between, double reach, double alpha) {
  unsigned n = 3;
  while (n < kMostSessions && studentQuantile(alpha, n - 1) * between / std::sqrt(double(n)) > reach) ++n;
  return n;
}

std::optional<CentreOfMeans> shiftOfMeans(std::span<const double> treated, std::span<const int64_t> treated_sessions,
                                          std::span<const double> baseline,
                                          std::span<const int64_t> baseline_sessions) {
  const std::vector<double> ours = meansOf(bySession(treated, treated_sessions)),
                            others = meansOf(bySession(baseline, baseline_sessions));
  // Student's two-sample procedure on session means, with a common variance.
  const double m = double(ours.size()), n = double(others.size());
  if (ours.empty() || others.empty() || m + n < 3 || !allFinite(treated) || !allFinite(baseline)) return std::nullopt;
  const double variance = (squares(ours) + squares(others)) / (m + n - 2);
  return CentreOfMeans{meanOf(ours) - meanOf(others), std::sqrt(variance * (1 / m + 1 / n)), m + n - 2};
}

}  // namespace expc::stats
