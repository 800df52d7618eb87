#include "runtime/stats/looks.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "runtime/stats/estimators.h"

using namespace expc::stats;

namespace {

using Looks = std::vector<LookAt>;

/// Planned looks at these fractions of the final number of values.
Looks planned(const std::vector<double>& fractions) {
  Looks looks;
  for (const double fraction : fractions) looks.push_back({fraction, plannedShare(fraction)});
  return looks;
}

double tails(double z) { return std::erfc(z / std::sqrt(2.0)); }

}  // namespace

TEST_CASE("the levels of looks are those of published tables") {
  // Boundaries of Pocock's type for a two-sided 5 %: Lan & DeMets 1983, table 1; Reboussin et al. 2000 for five looks.
  const Looks fifths = planned({0.2, 0.4, 0.6, 0.8, 1});
  const std::vector<double> levels = nominalLevels(0.05, fifths);
  const double z[] = {2.438, 2.427, 2.410, 2.397, 2.386};
  for (int i = 0; i < 5; ++i) CHECK(levels[i] == doctest::Approx(tails(z[i])).epsilon(0.005));
  const std::vector<double> halves = nominalLevels(0.05, planned({0.5, 1}));
  CHECK(halves[0] == doctest::Approx(tails(2.157)).epsilon(0.005));
  CHECK(halves[1] == doctest::Approx(tails(2.201)).epsilon(0.005));
}

TEST_CASE("one look at everything changes nothing") {
  const LookLevels none, one{planned({1})};
  for (const double p : {1e-12, 0.03, 0.5, 1.0}) {
    CHECK(none.nominal(p) == p);
    CHECK(one.overall(p) == p);
  }
}

TEST_CASE("a level and its inverse belong together, at any alpha") {
  const LookLevels looks{planned({0.4, 0.7, 1})};
  for (const double alpha : {1e-6, 0.001, 0.0125, 0.05, 0.3}) {
    CHECK(looks.overall(looks.nominal(alpha)) == doctest::Approx(alpha).epsilon(1e-9));
    CHECK(looks.nominal(alpha) == doctest::Approx(nominalLevels(alpha, planned({0.4, 0.7, 1})).back()).epsilon(0.02));
    CHECK(looks.nominal(alpha) < alpha);
  }
  CHECK(looks.overall(0) == 0);
  CHECK(looks.overall(1) == 1);
}

TEST_CASE("signed ranks at the levels of three looks reject by chance no more often than alpha") {
  const unsigned at[] = {8, 14, 20};
  std::vector<LookLevels> looks;
  for (size_t i = 0; i < 3; ++i) {
    std::vector<double> fractions;
    for (size_t j = 0; j <= i; ++j) fractions.push_back(at[j] / 20.0);
    looks.emplace_back(planned(fractions));
  }
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  const int studies = 4000;
  int rejected = 0;
  for (int study = 0; study < studies; ++study) {
    std::vector<double> values;
    bool any = false;
    for (size_t i = 0; i < 3 && !any; ++i) {
      while (values.size() < at[i]) values.push_back(noise(random));
      const auto away = [](double low, double high) { return low > 0 || high < 0; };
      any = signedRank(values).smallestAlpha(away) <= looks[i].nominal(0.05);
    }
    rejected += any;
  }
  // Four standard errors above 5 %; without spending rules about 10 % would be found.
  CHECK(rejected < studies * (0.05 + 4 * std::sqrt(0.05 * 0.95 / studies)));
  CHECK(rejected > studies * 0.03);
}

TEST_CASE("what exact tests leave over is what they cannot attain, by Holm over several too") {
  CHECK(unspentShare(0.05, 8, 1) == doctest::Approx(1 - 2 * 5 / 256.0 / 0.05));
  CHECK(unspentShare(0.05, 10, 1) == doctest::Approx(1 - 2 * 25 / 1024.0 / 0.05));
  // Six at 0.05 / 6 attain more than one at 0.05: 2 / 2^8 each.
  CHECK(unspentShare(0.05, 8, 6) == doctest::Approx(1 - 6 * 2 / 256.0 / 0.05));
  for (unsigned values = 6; values <= 50; ++values) CHECK(unspentShare(0.05, values, 1) >= kLeastLeft);
}

TEST_CASE("looks that nobody planned spend what the planned one left over, and all together no more than alpha") {
  // Ten pairs, and at each look ten more: who stops at the first that rejects rejects in at most 5 % of all studies.
  const double left = unspentShare(0.05, 10, 1);
  std::vector<LookLevels> levels;
  Looks looks;
  for (unsigned n = 10; n <= 60; n += 10) {
    looks.push_back({double(n), n == 10 ? 1 - left : 1 - left + left * (1 - 10.0 / n)});
    levels.push_back(n == 10 ? LookLevels() : LookLevels(looks));
  }
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise;
  const int studies = 4000;
  int first = 0, later = 0;
  for (int study = 0; study < studies; ++study) {
    std::vector<double> values;
    for (size_t i = 0; i < levels.size(); ++i) {
      while (values.size() < 10 * (i + 1)) values.push_back(noise(random));
      const auto away = [](double low, double high) { return low > 0 || high < 0; };
      if (signedRank(values).smallestAlpha(away) > levels[i].nominal(0.05)) continue;
      ++(i == 0 ? first : later);
      break;
    }
  }
  CHECK(first > studies * 0.035);
  CHECK(later < studies * 0.005);
  CHECK(first + later < studies * (0.05 + 4 * std::sqrt(0.05 * 0.95 / studies)));
}
