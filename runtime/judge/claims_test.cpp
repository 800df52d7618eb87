// Nested quantifiers: what they need to pass or fail, and how often chance alone makes them.

#include <doctest/doctest.h>

#include <cmath>

#include "runtime/judge/criteria.h"
#include "runtime/stats/design.h"
#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "tests/support/judge/study.h"

namespace expc::judge {
namespace {

using Kind = plan::Claim::Kind;

/// `kinds` from the outside in, each over as many children as `widths` says; cells are numbered as they come.
plan::Claim tree(const std::vector<Kind>& kinds, const std::vector<unsigned>& widths, unsigned& cells,
                 size_t depth = 0) {
  if (depth == kinds.size()) return {Kind::Cell, {}, cells++};
  plan::Claim claim{kinds[depth], {}, 0};
  for (unsigned i = 0; i < widths[depth]; ++i) claim.children.push_back(tree(kinds, widths, cells, depth + 1));
  return claim;
}

/// The fewest pairs at which the claim can pass (fail), if every cell speaks as clearly as so many pairs can.
unsigned fewest(const plan::Claim& claim, unsigned cells, bool pass) {
  for (unsigned n = 2; n < 30; ++n) {
    const double p = 2 / std::pow(2.0, n);
    const std::vector<Evidences> evidences(cells, pass ? Evidences{p, 1} : Evidences{1, p});
    if (decide(claim, evidences, 0.05).verdict != Verdict::Inconclusive) return n;
  }
  return 0;
}

}  // namespace

TEST_CASE("Holm's divisor multiplies along nested quantifiers, as the compiler's check of repetitions has it") {
  // The compiler multiplies by the number of children at each quantifier that needs one child only: an exists to pass,
  // a forall to fail.
  for (const Kind outer : {Kind::ForAll, Kind::Exists})
    for (const Kind inner : {Kind::ForAll, Kind::Exists})
      for (const unsigned first : {1u, 2u, 5u})
        for (const unsigned second : {1u, 3u, 7u}) {
          unsigned cells = 0;
          const plan::Claim claim = tree({outer, inner}, {first, second}, cells);
          const auto divisor = [&](Kind needs_one) {
            return (outer == needs_one ? first : 1) * (inner == needs_one ? second : 1);
          };
          CAPTURE(first);
          CAPTURE(second);
          CHECK(fewest(claim, cells, true) == stats::minimumPairs(0.95, divisor(Kind::Exists)));
          CHECK(fewest(claim, cells, false) == stats::minimumPairs(0.95, divisor(Kind::ForAll)));
        }
}

TEST_CASE("chance alone passes and fails nested claims no more often than alpha") {
  // Every cell lies on its bound, so each pass and each fail is chance. 12 pairs, 400 studies for each shape; 5 % of
  // 400 is 20, and 33 is three standard deviations more.
  stats::NormalStream normal(5);
  for (const auto& [outer, inner] : {std::pair(Kind::Exists, Kind::ForAll), std::pair(Kind::ForAll, Kind::Exists),
                                     std::pair(Kind::Exists, Kind::Exists), std::pair(Kind::ForAll, Kind::ForAll)}) {
    unsigned passes = 0, fails = 0;
    unsigned cells = 0;
    const plan::Claim claim = tree({outer, inner}, {3, 2}, cells);
    for (unsigned study = 0; study < 400; ++study) {
      std::vector<Evidences> evidences;
      for (unsigned cell = 0; cell < cells; ++cell) {
        std::vector<double> logs;
        for (unsigned pair = 0; pair < 12; ++pair) logs.push_back(0.02 * normal.next());
        const stats::NestedIntervals intervals = stats::signedRank(logs);
        evidences.push_back({intervals.smallestAlpha([](double low, double) { return low >= 0; }),
                             intervals.smallestAlpha([](double, double high) { return high < 0; })});
      }
      const Verdict verdict = decide(claim, evidences, 0.05).verdict;
      passes += verdict == Verdict::Pass;
      fails += verdict == Verdict::Fail;
    }
    CHECK(passes <= 33);
    CHECK(fails <= 33);
  }
}

}  // namespace expc::judge
