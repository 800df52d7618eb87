// The bound is an estimate plus a number of standard errors that depends on how clearly a correlation was seen. Its
// constants are a compromise that was found by simulation: fewer errors would let intervals of correlated values
// miss, more would widen those of independent ones. docs/layers/statistics.md has the table of what they reach, and
// serial_test.cpp repeats a part of it.

#include "runtime/stats/serial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/procedures.h"

namespace expc::stats {
namespace {

constexpr size_t kFewest = 3;  // least values of a session that show a correlation
/// Below 1, where the inflation would be infinite.
constexpr double kMost = 0.985;

/// Blom's normal scores; equal values share the score of their middle rank.
std::vector<double> normalScores(std::span<const double> values) {
  std::vector<double> scores = ranksOf(values);
  for (double& score : scores) score = normalScore(score, values.size());
  return scores;
}

}  // namespace

void SerialCorrelation::add(std::span<const double> values, std::span<const int64_t> sessions, double weight) {
  // Scores are made over all sessions, so that levels keep their distance, and centred within each: a step between
  // sessions is not serial correlation.
  for (auto& [session, scores] : bySession(normalScores(values), sessions)) {
    if (scores.size() < kFewest) continue;
    takeMeans(scores, [](size_t) { return 0; });
    for (size_t i = 0; i < scores.size(); ++i) {
      squares_ += weight * (scores[i] * scores[i]);
      if (i > 0) products_ += weight * (scores[i] * scores[i - 1]);
    }
    // Removing a session's mean makes the expected product of neighbours negative. `taken_` is the sum of these
    // biases for independent values.
    taken_ += weight * (1 - 1 / double(scores.size()));
    values_ += weight * double(scores.size());
    sessions_ += weight;
  }
}

/// With these constants simulated intervals cover 92 % of judged studies of one point, and 90 % of those of pairs, at
/// correlations up to 0.95. The median interval of independent values does not grow (docs/layers/statistics.md).
double SerialCorrelation::atMost(Pairing pairing) const {
  if (squares_ <= 0) return 0;
  const bool alone = pairing == Pairing::Alone;
  const double n = values_, error = 1 / std::sqrt(n), length = n / sessions_;
  const double found = products_ / squares_ + taken_ / (n - sessions_), seen = found / error;
  constexpr double kTooFew = 8, kAssumed = 0.6;
  // Marriott & Pope (1954): E[r] = rho - (1 + 3 rho) / n. The first part is added here, the second divided out
  // below.
  const bool assumed = alone && n < kTooFew;
  // The threshold is in standard errors. With few pairs an allowance for a correlation that chance produced costs
  // most, so it is higher there. For single points it falls from 0.6 to below zero for fewer than 10 values: these
  // get the allowance unless they look clearly independent.
  const double unseen = alone ? 0.6 - 50 / (n * n) : length < double(kPairsThatShow) ? 1.5 : 1.25;
  if (seen <= unseen && !assumed) return 0;
  // How clearly the correlation was seen: 0 at one standard error, 1 from two on, and less for more than 20 values,
  // whose standard error is small enough already.
  const double clearly = std::clamp(seen - 1, 0.0, 1.0) * std::min(1.0, 20 / n);
  const double errors = alone ? 1.3 + 0.5 * clearly : 0.25 + 1.6 * clearly;
  const double bound = (found + errors * error) / std::max(0.25, 1 - 3 / length);
  return std::clamp(bound, assumed ? kAssumed : 0.0, kMost);
}

double inflationOf(double correlation, std::span<const int64_t> sessions) {
  if (correlation <= 0 || sessions.empty()) return 1;
  std::map<int64_t, size_t> sizes;
  for (const int64_t session : sessions) ++sizes[session];
  double sum = 0;
  for (const auto& [session, size] : sizes) {
    // The variance of a sum of n first-order autoregressive values is n + 2 sum over lags k of (n - k) rho^k. Terms
    // below 1e-9 change nothing.
    sum += double(size);
    double power = correlation;
    for (size_t k = 1; k < size && power > 1e-9; ++k, power *= correlation) sum += 2 * double(size - k) * power;
  }
  return sum / double(sessions.size());
}

NestedIntervals widened(const NestedIntervals& intervals, double correlation, std::span<const int64_t> sessions,
                        Scale scale) {
  constexpr double kLeastWorth = 1.3, kLeastFreedoms = 4, kLeastLevel = 1e-12;
  const double n = double(sessions.size()), inflation = inflationOf(correlation, sessions);
  // `worth` is the effective sample size: the number of independent values whose mean is as certain.
  if (inflation <= 1 || n < 2) return intervals;
  const double worth = std::max(kLeastWorth, n / inflation);
  const double freedoms = std::min(n - 1, std::max(worth - 1, kLeastFreedoms));
  const auto factor = [=](double alpha) {
    // Correlated values scatter too little by (n - inflation) / (n - 1), and their mean varies `inflation` times as
    // much. Both together multiply the squared standard error by (n - 1) / (worth - 1).
    const double level = std::clamp(alpha, kLeastLevel, 0.999);
    const double reach = studentQuantile(level, freedoms) / studentQuantile(level, n - 1);
    return std::max(1.0, std::sqrt((n - 1) / (worth - 1)) * reach);
  };
  return intervals.stretched(factor, scale);
}

double trendOf(std::span<const double> values, std::span<const int64_t> sessions) {
  constexpr double kSteady = 0.5, kSignificant = 0.01;
  double steps = 0, pairs = 0, variance = 0;
  // Kendall's statistic is summed over sessions, whose variances add up (without a correction for ties, which would
  // lower the variance and p, so the test is conservative).
  for (const auto& [session, ours] : bySession(values, sessions)) {
    const double n = double(ours.size());
    for (size_t i = 0; i < ours.size(); ++i)
      for (size_t j = i + 1; j < ours.size(); ++j) steps += (ours[j] > ours[i]) - (ours[j] < ours[i]);
    pairs += n * (n - 1) / 2;
    variance += n * (n - 1) * (2 * n + 5) / 18;
  }
  if (pairs <= 0 || std::abs(steps) / pairs < kSteady) return 0;
  // Normal approximation, with one step of continuity correction.
  return significant(2 * normalCdf(-(std::abs(steps) - 1) / std::sqrt(variance)), kSignificant) ? steps / pairs : 0;
}

}  // namespace expc::stats
