#include "runtime/stats/looks.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "runtime/stats/estimators.h"

using namespace expc::stats;

namespace {

using Fractions = std::vector<double>;

double tails(double z) { return std::erfc(z / std::sqrt(2.0)); }

}  // namespace

TEST_CASE("the levels of looks are those of published tables") {
  // Boundaries of Pocock's type for a two-sided 5 %: Lan & DeMets 1983, table 1; Reboussin et al. 2000 for five looks.
  const Fractions fifths{0.2, 0.4, 0.6, 0.8, 1};
  const std::vector<double> levels = nominalLevels(0.05, fifths);
  const double z[] = {2.438, 2.427, 2.410, 2.397, 2.386};
  for (int i = 0; i < 5; ++i) CHECK(levels[i] == doctest::Approx(tails(z[i])).epsilon(0.005));
  const std::vector<double> halves = nominalLevels(0.05, Fractions{0.5, 1});
  CHECK(halves[0] == doctest::Approx(tails(2.157)).epsilon(0.005));
  CHECK(halves[1] == doctest::Approx(tails(2.201)).epsilon(0.005));
}

TEST_CASE("one look at everything changes nothing") {
  const LookLevels none, one{Fractions{1}};
  for (const double p : {1e-12, 0.03, 0.5, 1.0}) {
    CHECK(none.nominal(p) == p);
    CHECK(one.overall(p) == p);
  }
}

TEST_CASE("a level and its inverse belong together, at any alpha") {
  const LookLevels looks{Fractions{0.4, 0.7, 1}};
  for (const double alpha : {1e-6, 0.001, 0.0125, 0.05, 0.3}) {
    CHECK(looks.overall(looks.nominal(alpha)) == doctest::Approx(alpha).epsilon(1e-9));
    CHECK(looks.nominal(alpha) == doctest::Approx(nominalLevels(alpha, Fractions{0.4, 0.7, 1}).back()).epsilon(0.02));
    CHECK(looks.nominal(alpha) < alpha);
  }
  CHECK(looks.overall(0) == 0);
  CHECK(looks.overall(1) == 1);
}

TEST_CASE("signed ranks at the levels of three looks reject by chance no more often than alpha") {
  const unsigned at[] = {8, 14, 20};
  std::vector<LookLevels> looks;
  for (size_t i = 0; i < 3; ++i) {
    Fractions fractions;
    for (size_t j = 0; j <= i; ++j) fractions.push_back(at[j] / 20.0);
    looks.emplace_back(fractions);
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
  // Four standard errors above 5 %; without payment about 10 % would.
  CHECK(rejected < studies * (0.05 + 4 * std::sqrt(0.05 * 0.95 / studies)));
  CHECK(rejected > studies * 0.03);
}
