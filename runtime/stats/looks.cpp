// Computes the nominal levels of several looks by numerical integration: the density of a Brownian motion that has
// stayed within its boundaries is carried from look to look on a grid (Armitage, McPherson & Rowe 1969). P-values
// need the inverse of that, so LookLevels tabulates 28 values of alpha once for each plan of looks, and
// interpolates between their logarithms in both directions.

#include "runtime/stats/looks.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <numbers>

#include "runtime/stats/distributions.h"
#include "runtime/stats/nested_intervals.h"

namespace expc::stats {
namespace {

constexpr int kCells = 160;      // intervals of Simpson's rule over the range within the boundaries; must be even
constexpr double kFurthest = 8;  // standard deviations: beyond lies less than 1e-15
constexpr double kSmallestAlpha = 1e-9;
constexpr int kAlphas = 28;

double upperTail(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

/// The distribution of a Brownian motion that has not left its boundaries at the looks so far: a density on an even
/// grid. Empty before the first look, when the motion still starts at 0.
class Motion {
 public:
  /// The probability to leave beyond ±end at `time`, not having left before.
  double leaving(double time, double end) const {
    if (density_.empty()) return 2 * upperTail(end / std::sqrt(time));
    const double sigma = std::sqrt(time - time_);
    return integral([&](double at) { return upperTail((end - at) / sigma) + upperTail((end + at) / sigma); });
  }

  /// The boundary beyond which the motion leaves at `time` with the probability `may` at most, and hardly less.
  double endThatSpends(double may, double time) const {
    const double furthest = kFurthest * std::sqrt(time);
    const auto excess = [&](double end) { return leaving(time, end) - may; };
    if (excess(0) <= 0) return 0;
    if (excess(furthest) >= 0) return furthest;
    std::uintmax_t steps = 100;
    return boost::math::tools::toms748_solve(excess, 0.0, furthest, boost::math::tools::eps_tolerance<double>(50),
                                             steps)
        .second;
  }

  /// Moves on to `time`: the part of the distribution that is within ±end stays, the rest has left.
  void stay(double time, double end) {
    std::vector<double> next(kCells + 1);
    const double sigma = std::sqrt(time - time_);
    for (int i = 0; i <= kCells; ++i) {
      const double to = -end + 2 * end * i / kCells;
      next[i] = density_.empty() ? bell(to / sigma) / sigma
                                 : integral([&](double at) { return bell((to - at) / sigma) / sigma; });
    }
    density_ = std::move(next);
    time_ = time;
    end_ = end;
  }

 private:
  static double bell(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

  template <typename F>
  double integral(F f) const {
    const double step = 2 * end_ / kCells;
    double sum = 0;
    for (int i = 0; i <= kCells; ++i) {
      const double weight = i == 0 || i == kCells ? 1 : i % 2 == 1 ? 4 : 2;
      sum += weight * density_[i] * f(-end_ + step * i);
    }
    return sum * step / 3;
  }

  std::vector<double> density_;
  double time_ = 0, end_ = 0;
};

/// Pairs of (log alpha, log nominal level of the last look), for alphas spaced evenly on a logarithmic scale from
/// kSmallestAlpha to below 1. An alpha whose level is 0 (all of it was spent before) has no logarithm and is left
/// out.
std::vector<std::pair<double, double>> tableOf(std::span<const LookAt> looks) {
  std::vector<std::pair<double, double>> table;
  for (int i = 0; i < kAlphas; ++i) {
    const double alpha = kSmallestAlpha * std::pow(1 / kSmallestAlpha, double(i) / kAlphas);
    const double level = nominalLevels(alpha, looks).back();
    if (level > 0) table.emplace_back(std::log(alpha), std::log(level));
  }
  return table;
}

/// Interpolates linearly between the two entries around `x`; beyond the table, extrapolates with the slope of its
/// last two entries.
double interpolate(const std::vector<std::pair<double, double>>& table, double x, bool inverse) {
  const auto key = [&](const auto& entry) { return inverse ? entry.second : entry.first; };
  const auto value = [&](const auto& entry) { return inverse ? entry.first : entry.second; };
  auto above = std::ranges::find_if(table, [&](const auto& entry) { return key(entry) >= x; });
  above = std::clamp(above, table.begin() + 1, table.end() - 1);
  const auto below = above - 1;
  const double slope = (value(*above) - value(*below)) / (key(*above) - key(*below));
  return value(*below) + slope * (x - key(*below));
}

/// The largest of the levels 2 P(k), k = 0, 1, …, that is at most `alpha`; 0 if none is.
template <class Probability>
double attained(double alpha, unsigned count, Probability probability) {
  double level = 0;
  for (unsigned k = 0; k < count && significant(2 * probability(k), alpha); ++k) level = 2 * probability(k);
  return level;
}

}  // namespace

double plannedShare(double fraction) { return std::log1p((std::numbers::e - 1) * std::clamp(fraction, 0.0, 1.0)); }

/// Holm may use any of the levels alpha / j. The j tests at that level attain at most j times the largest level that
/// the exact test has there; the largest of these sums may have been spent. Both exact tests are tried, since it is
/// not known here which one a cell uses. More than kMostTests tests are not searched: the least share is taken.
/// kMostLeft caps the share at half of alpha, however coarse the test is.
double unspentShare(double alpha, unsigned values, unsigned tests) {
  constexpr unsigned kMostTests = 64;
  constexpr double kMostLeft = 0.5;
  if (tests > kMostTests) return kLeastLeft;
  const auto ranks = signedRankCdf(values);
  double spent = 0;
  for (unsigned j = 1; j <= std::max(1u, tests); ++j)
    spent = std::max({spent, j * attained(alpha / j, unsigned(ranks->size()), [&](unsigned k) { return (*ranks)[k]; }),
                      j * attained(alpha / j, values, [&](unsigned k) { return fairCoinCdf(k, values); })});
  return std::clamp(1 - spent / alpha, kLeastLeft, kMostLeft);
}

std::vector<double> nominalLevels(double alpha, std::span<const LookAt> looks) {
  std::vector<double> levels;
  Motion motion;
  double spent = 0;
  for (const LookAt& look : looks) {
    // Information time: the last look is at 1.
    const double time = look.values / looks.back().values;
    const double may = std::max(0.0, alpha * look.share - spent);
    spent += may;
    const double end = motion.endThatSpends(may, time);
    levels.push_back(2 * upperTail(end / std::sqrt(time)));
    if (&look != &looks.back()) motion.stay(time, end);
  }
  return levels;
}

LookLevels::LookLevels(std::span<const LookAt> looks) {
  // One look that has all of alpha changes no level; the empty table stands for that.
  if (looks.empty() || (looks.size() == 1 && looks[0].share >= 1)) return;
  static std::mutex mutex;
  static std::map<std::vector<double>, std::vector<std::pair<double, double>>> known;
  std::vector<double> key;
  for (const LookAt& look : looks) key.insert(key.end(), {look.values / looks.back().values, look.share});
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = known.try_emplace(std::move(key));
  if (fresh) at->second = tableOf(looks);
  table_ = at->second;
}

double LookLevels::nominal(double alpha) const {
  return table_.empty() ? alpha : std::min(alpha, std::exp(interpolate(table_, std::log(alpha), false)));
}

double LookLevels::overall(double p) const {
  if (table_.empty() || p <= 0 || p >= 1) return p;
  return std::clamp(std::exp(interpolate(table_, std::log(p), true)), p, 1.0);
}

}  // namespace expc::stats
