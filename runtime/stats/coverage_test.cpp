// The self-test of docs/layers/statistics.md: intervals on known distributions cover as promised, and claims at their
// boundary pass no more often than alpha.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/spreads.h"

namespace expc::stats {
namespace {

struct Noise {
  std::string name;
  double median;  // of draw
  std::function<double(NormalStream&)> draw;
};

/// Shapes of run-time noise that occur in practice: symmetric, multiplicative, with a long right tail, with rare
/// slow runs.
std::vector<Noise> noises() {
  return {
      {"normal", 0.0, [](NormalStream& s) { return s.next(); }},
      {"lognormal", 1.0, [](NormalStream& s) { return std::exp(0.5 * s.next()); }},
      {"exponential", std::log(2.0), [](NormalStream& s) { return -std::log(s.uniform()); }},
      {"outliers", 0.0, [](NormalStream& s) { return s.uniform() < 0.1 ? 20 * s.next() : s.next(); }},
      {"steps", 2.0, [](NormalStream& s) { return std::floor(5 * s.uniform()); }},  // ties: 0..4
  };
}

/// Four standard errors of a share: a right implementation fails once in 30,000 changes of the seed.
double tolerance(double share, unsigned replicates) { return 4 * std::sqrt(share * (1 - share) / replicates); }

constexpr unsigned kReplicates = 4000;
constexpr double kInterpolated = 0.006;  // by which an interval between two order statistics may miss its level

}  // namespace

TEST_CASE("order-statistic intervals cover the median as promised") {
  for (const Noise& noise : noises()) {
    for (const unsigned n : {6u, 10u, 25u}) {
      NormalStream stream(n);
      unsigned covered = 0;
      double promised = 0;
      for (unsigned r = 0; r < kReplicates; ++r) {
        std::vector<double> sample(n);
        for (double& value : sample) value = noise.draw(stream);
        const auto interval = orderStatistics(sample).interval(0.95);
        REQUIRE(interval);
        promised = interval->confidence;
        covered += interval->low <= noise.median && noise.median <= interval->high;
      }
      const double coverage = double(covered) / kReplicates;
      CAPTURE(noise.name);
      CAPTURE(n);
      CHECK(promised >= 0.95);
      CHECK(coverage >= promised - tolerance(promised, kReplicates) - kInterpolated);
      // For continuous values the method is exact, apart from the steps between two levels, and not merely safe.
      if (noise.name != "steps") CHECK(coverage <= promised + tolerance(promised, kReplicates) + kInterpolated);
    }
  }
}

TEST_CASE("signed-rank intervals of paired differences cover the shift as promised") {
  constexpr double kShift = 3.0;
  for (const Noise& noise : noises()) {
    for (const unsigned n : {6u, 10u, 20u, 60u}) {
      const unsigned replicates = n > 50 ? 1000 : kReplicates;
      NormalStream stream(100 + n);
      unsigned covered = 0;
      double promised = 0;
      for (unsigned r = 0; r < replicates; ++r) {
        std::vector<double> differences(n);
        for (double& difference : differences) {
          const double block = 10 * stream.next();  // drift shared by the pair: cancels
          difference = (block + kShift + noise.draw(stream)) - (block + noise.draw(stream));
        }
        const auto interval = signedRank(differences).interval(0.95);
        REQUIRE(interval);
        promised = interval->confidence;
        // Differences of whole steps are equal only up to the rounding of `block`.
        covered += interval->low <= kShift + 1e-9 && kShift - 1e-9 <= interval->high;
      }
      const double coverage = double(covered) / replicates;
      CAPTURE(noise.name);
      CAPTURE(n);
      CHECK(promised >= 0.95);
      CHECK(coverage >= promised - tolerance(promised, replicates));
      if (noise.name != "steps") CHECK(coverage <= promised + tolerance(promised, replicates));
    }
  }
}

TEST_CASE("claims at their boundary are decided wrongly no more often than promised") {
  constexpr unsigned kCells = 4, kPairs = 10;
  constexpr double kAlpha = 0.05;
  const auto above = [](double low, double) { return low >= 0; };
  const auto below = [](double, double high) { return high < 0; };
  for (const Noise& noise : noises()) {
    NormalStream stream(7);
    unsigned forall_passes = 0, forall_fails = 0, exists_passes = 0;
    for (unsigned r = 0; r < kReplicates; ++r) {
      std::vector<double> p_above(kCells), p_below(kCells);
      for (unsigned cell = 0; cell < kCells; ++cell) {
        std::vector<double> differences(kPairs);
        for (double& difference : differences) difference = noise.draw(stream) - noise.draw(stream);
        const NestedIntervals intervals = signedRank(differences);
        p_above[cell] = intervals.smallestAlpha(above);
        p_below[cell] = intervals.smallestAlpha(below);
      }
      bool all = true, some_below = false, some_above = false;
      const auto levels_below = holmLevels(p_below, kAlpha), levels_above = holmLevels(p_above, kAlpha);
      for (unsigned cell = 0; cell < kCells; ++cell) {
        all = all && significant(p_above[cell], kAlpha);
        some_below = some_below || significant(p_below[cell], levels_below[cell]);
        some_above = some_above || significant(p_above[cell], levels_above[cell]);
      }
      forall_passes += all;
      forall_fails += some_below;
      exists_passes += some_above;
    }
    CAPTURE(noise.name);
    const double limit = kAlpha + tolerance(kAlpha, kReplicates);
    CHECK(double(forall_passes) / kReplicates <= limit);
    CHECK(double(forall_fails) / kReplicates <= limit);
    CHECK(double(exists_passes) / kReplicates <= limit);
    // The two-sided level is spent on one side at most: half of it, less what four cells of ten pairs cannot attain.
    if (noise.name == "normal") CHECK(double(forall_fails) / kReplicates >= 0.005);
  }
}

TEST_CASE("sessions that lie apart are covered, also where most values are of one of them") {
  for (const Pairing pairing : {Pairing::Paired, Pairing::Alone})
    for (const std::vector<unsigned>& lengths : std::vector<std::vector<unsigned>>{
             {6, 6}, {2, 10}, {6, 6, 6}, {8, 8, 8}, {14, 2, 2}, {30, 2, 2}, {20, 2, 2, 2}}) {
      for (const double apart : {0.0, 0.5, 1.0, 2.0, 4.0}) {
        NormalStream stream(lengths.front());
        constexpr unsigned kStudies = 2000;
        unsigned covered = 0, judged = 0;
        for (unsigned r = 0; r < kStudies; ++r) {
          std::vector<double> values;
          std::vector<int64_t> sessions;
          for (size_t session = 0; session < lengths.size(); ++session) {
            const double offset = apart * stream.next();
            for (unsigned i = 0; i < lengths[session]; ++i) {
              values.push_back(offset + stream.next());
              sessions.push_back(int64_t(session));
            }
          }
          NestedIntervals intervals = pairing == Pairing::Alone ? orderStatistics(values) : signedRank(values);
          const auto found = spreads(values, sessions, pairing);
          REQUIRE(found);
          const auto interval = found->allowFor(intervals).interval(0.95);
          if (!interval) continue;
          ++judged;
          covered += interval->low <= 0 && 0 <= interval->high;
        }
        CAPTURE(lengths.size());
        CAPTURE(lengths.front());
        CAPTURE(apart);
        if (lengths.size() > 2 || pairing == Pairing::Alone) {
          CHECK(judged == kStudies);
          CHECK(double(covered) / kStudies >= 0.925 - tolerance(0.075, kStudies));
          continue;
        }
        // Two sessions of pairs are judged unless they show a difference, which they seldom do if there is none. Those
        // that are judged rest on the condition that sessions do not differ.
        const double share = double(judged) / kStudies, missed = double(judged - covered) / kStudies;
        if (apart == 0) {
          CHECK(share >= 0.95 - tolerance(0.05, kStudies));
          CHECK(missed <= 0.05 + tolerance(0.05, kStudies));
        }
        CHECK(missed <= 0.27);
        if (apart == 4) CHECK(share <= 0.25);
      }
    }
}

TEST_CASE("the number of sessions is that from which Student's interval is as narrow") {
  const auto reach = [](unsigned n) { return studentQuantile(0.05, n - 1) * 0.1 / std::sqrt(double(n)); };
  for (const unsigned n : {3u, 5u, 40u}) CHECK(sessionsFor(0.1, reach(n), 0.05) == n);
  CHECK(sessionsFor(0.1, 1, 0.05) == 3);
  CHECK(sessionsFor(1, 1e-6, 0.05) == kMostSessions);
}

}  // namespace expc::stats
