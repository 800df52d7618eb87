// The test statistics are likelihood ratios between steps (or a line) with independent noise and a constant level
// with autoregressive noise. Correlated noise wanders and looks like steps, so p-values are the largest over
// several correlations: the distribution of each statistic under each is simulated once for each length of sequence
// and kept. Sequences are looked at in two forms, as normal scores of ranks (robust) and as values clamped to
// Tukey's fences (sensitive to large steps).

#include "runtime/stats/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>

#include "runtime/stats/distributions.h"
#include "runtime/stats/nested_intervals.h"
#include "runtime/stats/procedures.h"

namespace expc::stats {
namespace {

/// Sequences that are drawn for each correlation: with the observed one p is a multiple of 1 / 5000.
constexpr unsigned kDraws = 4999;
/// Correlations under which p-values are simulated; 1 is a random walk.
constexpr std::array kNoises{0.0, 0.4, 0.6, 0.75, 0.9, 1.0};
/// Correlations among which the likeliest constant level is looked for.
constexpr std::array kFitted{0.0, 0.2, 0.4, 0.6, 0.75, 0.85, 0.92, 0.97, 0.99};
/// The ratio of plain values is lowered by this before it is compared with that of scores, because it varies more
/// from one correlation to another.
constexpr double kValuesCost = 4;
/// The shares of alpha for the search for one step and for two steps (Bonferroni). A search for one step alone
/// overlooks a level that returns to where it was.
constexpr double kOneStep = 0.8, kTwoSteps = 1 - kOneStep;

/// Twice the log likelihood ratios to a constant level with correlated noise.
struct Ratios {
  double step = 0, two = 0, drift = 0;
  size_t at = 0;  // of the best single step
};

/// Values about their mean. `unknown` is the variance of the error with which each is known: they are rounded, or
/// tie in rank. It keeps the logarithm of a residual sum of squares finite where values repeat.
struct Sequence {
  std::vector<double> values;
  double unknown = 0;
};

Sequence centred(std::span<const double> values) {
  Sequence sequence{{values.begin(), values.end()}};
  const double mean = meanOf(values);
  for (double& value : sequence.values) value -= mean;
  return sequence;
}

double squares(std::span<const double> values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

/// -n/2 log(squares / n): the log likelihood of n normal values at its largest.
double likelihood(double squares, size_t n) { return -double(n) / 2 * std::log(squares / double(n)); }

/// Log-likelihood of a constant level with first-order autoregressive noise (exact, with a stationary first value),
/// at the best correlation of kFitted. Sums that do not depend on the correlation are computed once.
double constantLikelihood(const Sequence& of) {
  const std::vector<double>& z = of.values;
  const auto n = double(z.size());
  double all = squares(z), sum = std::accumulate(z.begin(), z.end(), 0.0), products = 0;
  for (size_t i = 1; i < z.size(); ++i) products += z[i] * z[i - 1];
  const double inner = all - z.front() * z.front() - z.back() * z.back(), inner_sum = sum - z.front() - z.back();
  double best = -INFINITY;
  for (const double r : kFitted) {
    // With w_1 = z_1 sqrt(1 - r²) and w_i = z_i - r z_(i-1): the sum of squares of w, its product with the
    // transformed level, and the squared length of the latter.
    const double of_squares = all - 2 * r * products + r * r * inner, of_sum = (1 - r) * (sum - r * inner_sum),
                 of_level = (1 - r) * (n - (n - 2) * r);
    const double left = of_squares - of_sum * of_sum / of_level + of.unknown * (n + (n - 2) * r * r);
    best = std::max(best, likelihood(left, z.size()) + std::log1p(-r * r) / 2);
  }
  return best;
}

/// All ratios of one sequence. The second step is searched greedily, inside the two parts that the best single step
/// leaves: an exhaustive search would cost n times as much in every one of the 30,000 simulated sequences.
Ratios ratiosOf(const Sequence& of) {
  const std::vector<double>& z = of.values;
  const size_t n = z.size();
  const double all = squares(z) + of.unknown * double(n), constant = constantLikelihood(of);
  std::vector<double> sums(n + 1, 0);
  std::partial_sum(z.begin(), z.end(), sums.begin() + 1);
  // The sum of squares that the level of a segment explains.
  const auto explained = [&](size_t from, size_t to) {
    const double sum = sums[to] - sums[from];
    return sum * sum / double(to - from);
  };
  Ratios ratios;
  double one = 0, second = 0;
  for (size_t k = kLeastSegment; k + kLeastSegment <= n; ++k)
    if (const double found = explained(0, k) + explained(k, n); found > one || ratios.at == 0)
      one = found, ratios.at = k;
  const auto split = [&](size_t from, size_t to) {
    for (size_t k = from + kLeastSegment; k + kLeastSegment <= to; ++k)
      second = std::max(second, explained(from, k) + explained(k, to) - explained(from, to));
  };
  split(0, ratios.at);
  split(ratios.at, n);
  // Least squares of a straight line: `t` is time about its middle, so slope and level are independent.
  double slope = 0, length = 0;
  for (size_t i = 0; i < n; ++i) {
    const double t = double(i) - double(n - 1) / 2;
    slope += t * z[i];
    length += t * t;
  }
  // A perfect fit leaves no residual; the floor keeps its logarithm finite.
  const auto ratio = [&](double less) { return 2 * (likelihood(std::max(all - less, all * 1e-12), n) - constant); };
  ratios.step = ratio(one);
  ratios.two = ratio(one + second);
  ratios.drift = ratio(slope * slope / length);
  return ratios;
}

/// The scores of values by their ranks; values that tie share the mean of their scores. The variance that the means
/// take away counts as `unknown`.
Sequence scoresOf(std::span<const double> values, const std::vector<double>& scores) {
  const size_t n = values.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return values[i]; });
  Sequence sequence{std::vector<double>(n)};
  for (size_t i = 0; i < n;) {
    size_t end = i + 1;
    while (end < n && values[order[end]] == values[order[i]]) ++end;
    const double mean = meanOf(std::span(scores).subspan(i, end - i));
    for (; i < end; ++i) sequence.values[order[i]] = mean;
  }
  sequence.unknown = std::max(0.0, squares(scores) - squares(sequence.values)) / double(n);
  return sequence;
}

/// Values clamped to Tukey's fences, so that an outlier near an end is no step. They are known to within the least
/// distance between two of them, whose rounding has a variance of a twelfth of its square (Sheppard's correction).
/// Nothing where most are equal, or many are infinite.
std::optional<Sequence> valuesOf(std::span<const double> values) {
  const auto [low, high] = tukeyFences(values);
  if (!(low < high) || !std::isfinite(low) || !std::isfinite(high)) return std::nullopt;
  std::vector<double> sorted;
  for (const double value : values) sorted.push_back(std::clamp(value, low, high));
  Sequence sequence = centred(sorted);
  std::ranges::sort(sorted);
  double least = INFINITY;
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i] > sorted[i - 1]) least = std::min(least, sorted[i] - sorted[i - 1]);
  if (std::isfinite(least)) sequence.unknown = least * least / 12;
  return sequence;
}

/// Test statistics of a sequence; each is larger the clearer the change is.
struct Statistics {
  double step = 0, two = 0, drift = 0;
  double over_drift = 0;
  size_t at = 0;
};

Statistics statisticsOf(std::span<const double> values, const std::vector<double>& scores) {
  const Ratios ranked = ratiosOf(scoresOf(values, scores));
  const auto scaled = valuesOf(values);
  const Ratios plain = scaled ? ratiosOf(*scaled) : ranked;
  const double cost = scaled ? kValuesCost : 0;
  const bool by_rank = ranked.step >= plain.step - cost;
  return {std::max(ranked.step, plain.step - cost), std::max(ranked.two, plain.two - cost), plain.drift,
          std::max(plain.step - kStepsCost, plain.two - 2 * kStepsCost) - plain.drift, by_rank ? ranked.at : plain.at};
}

/// Statistics of sequences without a step and a drift, for each correlation, ascending.
struct Chance {
  std::array<std::vector<double>, kNoises.size()> step, two, drift;
};

Chance simulated(size_t n, const std::vector<double>& scores) {
  Chance chance;
  // The seed is the length: equal histories give equal p-values on every machine.
  NormalStream stream(n);
  std::vector<double> values(n);
  for (size_t noise = 0; noise < kNoises.size(); ++noise) {
    // `fresh` keeps the variance at 1. A random walk has no stationary variance, and the likelihood ratios do not
    // depend on scale.
    const double r = kNoises[noise], fresh = r < 1 ? std::sqrt(1 - r * r) : 1;
    for (unsigned draw = 0; draw < kDraws; ++draw) {
      for (size_t i = 0; i < n; ++i) values[i] = i == 0 ? stream.next() : r * values[i - 1] + fresh * stream.next();
      const Statistics found = statisticsOf(values, scores);
      chance.step[noise].push_back(found.step);
      chance.two[noise].push_back(found.two);
      chance.drift[noise].push_back(found.drift);
    }
    for (auto* one : {&chance.step[noise], &chance.two[noise], &chance.drift[noise]}) std::ranges::sort(*one);
  }
  return chance;
}

/// The p-value of `seen`: the share of simulated statistics that are as large, under the worst of the first
/// `noises` correlations. The observed sequence counts as one of the drawn ones, so p is never 0.
double pOf(const std::array<std::vector<double>, kNoises.size()>& chance, double seen, size_t noises) {
  double p = 0;
  for (size_t noise = 0; noise < noises; ++noise) {
    const auto as_large = chance[noise].end() - std::ranges::lower_bound(chance[noise], seen * (1 - 1e-12));
    p = std::max(p, double(1 + as_large) / (kDraws + 1.0));
  }
  return p;
}

/// Reference for sequences of `n` values, simulated once for each n.
struct Reference {
  std::vector<double> scores;
  Chance chance;
};

/// Simulates under the lock, so that a second thread waits instead of simulating the same length.
std::shared_ptr<const Reference> referenceOf(size_t n) {
  static std::mutex mutex;
  static std::map<size_t, std::shared_ptr<const Reference>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Reference>& found = known[n];
  if (!found) {
    std::vector<double> scores;
    for (size_t rank = 1; rank <= n; ++rank) scores.push_back(normalScore(double(rank), n));
    Chance chance = simulated(n, scores);
    found = std::make_shared<const Reference>(Reference{std::move(scores), std::move(chance)});
  }
  return found;
}

/// Appends the steps of `values`, which begin at `offset` in the whole sequence, ascending. Each part is tested at
/// the whole alpha, as usual in binary segmentation: it is searched only if its parent has a step.
void findAll(std::span<const double> values, size_t offset, double alpha, std::vector<Change>& found) {
  const auto tendency = tendencyOf(values);
  if (!tendency || !significant(tendency->step.p, alpha) || tendency->over_drift <= 0) return;
  const size_t at = tendency->step.at;
  findAll(values.first(at), offset, alpha, found);
  found.push_back({offset + at, tendency->step.p});
  findAll(values.subspan(at), offset + at, alpha, found);
}

}  // namespace

std::optional<Tendency> tendencyOf(std::span<const double> values) {
  if (values.size() < kLeastCourse || hasNan(values)) return std::nullopt;
  // A constant sequence has no variance, so its likelihood is infinite; it has no step and no drift.
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); }))
    return Tendency{{kLeastSegment, 1}};
  const auto reference = referenceOf(values.size());
  const Statistics seen = statisticsOf(values, reference->scores);
  const Chance& chance = reference->chance;
  const double p = std::min(pOf(chance.step, seen.step, kNoises.size()) / kOneStep,
                            pOf(chance.two, seen.two, kNoises.size()) / kTwoSteps);
  // The drift leaves out the last correlation, the random walk, under which nearly every course looks like a drift.
  return Tendency{{seen.at, std::min(1.0, p)}, pOf(chance.drift, seen.drift, kNoises.size() - 1), seen.over_drift};
}

std::vector<Change> changePoints(std::span<const double> values, double alpha) {
  std::vector<Change> found;
  findAll(values, 0, alpha, found);
  return found;
}

std::optional<Outlying> newestOutlying(std::span<const double> values) {
  // Walks back from the newest value for as long as values lie outside and on its side of the others.
  const std::vector<unsigned> outside = tukeyOutliers(values);
  size_t first = values.size();
  const auto is_low = [&](size_t i) { return values[i] < tukeyFences(values).first; };
  for (auto one = outside.rbegin(); one != outside.rend() && *one + 1 == first; ++one) {
    if (is_low(*one) != is_low(values.size() - 1)) break;
    first = *one;
  }
  if (first == values.size() || first + 1 < kLeastCourse) return std::nullopt;
  std::vector<double> others(values.begin(), values.begin() + first);
  std::erase_if(others, [](double value) { return !std::isfinite(value); });
  const double last = values.back();
  // A newest value that timed out or diverged lies infinitely far from the finite ones.
  if (!std::isfinite(last)) return Outlying{values.size() - first, 0};
  const auto n = double(others.size());
  // Prediction interval of one further value: its variance is that of the others times 1 + 1/n. Student's t squared
  // is F with one degree of freedom.
  const double variance = squares(centred(others).values) / (n - 1) * (1 + 1 / n), distance = last - meanOf(others);
  const double p = variance > 0 ? fisherTail(distance * distance / variance, 1, n - 1) : 0;
  return Outlying{values.size() - first, p};
}

}  // namespace expc::stats
