#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "runtime/describe/description.h"
#include "tests/support/judge/study.h"

namespace expc::describe {
namespace {

using namespace judge::test;

plan::Plan withLoss() {
  plan::Plan plan = study(7, 7);
  plan.metrics.push_back({"loss", "", "", plan::Direction::Lower, TrialKind::Quality, false, true});
  return plan;
}

void addCourse(Records& records, const std::string& point, int64_t block, std::vector<double> losses,
               TrialStatus status = TrialStatus::Valid) {
  records.add(point, TrialKind::Quality, 1000 + block, status, {{"accuracy", 0.9}}).series["loss"] = std::move(losses);
}

}  // namespace

TEST_CASE("a curve has the median of the runs at each place, with its interval where there are enough") {
  const plan::Plan plan = withLoss();
  Records records;
  for (int block = 1; block <= 7; ++block) addCourse(records, "fp64-1", block, {1.0 * block, 0.5 * block});
  addCourse(records, "fp32-1", 1, {3, 2, 1});
  addCourse(records, "fp32-1", 2, {5, 4});
  addCourse(records, "fp32-1", 3, {100, 100, 100}, TrialStatus::Failed);
  const judge::Index index(plan, records.results);
  const std::vector<Curve> curves = curvesOf(index, *plan.findMetric("loss"));
  REQUIRE(curves.size() == 2);
  const auto of = [&](const std::string& point) { return *std::ranges::find(curves, point, &Curve::point); };
  const Curve seven = of("fp64-1");
  REQUIRE(seven.places.size() == 2);
  CHECK(seven.places[0].median == 4);
  CHECK(seven.places[1].median == 2);
  REQUIRE(seven.places[0].interval);
  CHECK(seven.places[0].interval->low == doctest::Approx(1.7317));
  CHECK(seven.places[0].interval->high == doctest::Approx(6.2683));
  // Two runs have no interval, and only one of them goes to the third place; what failed counts for nothing.
  const Curve two = of("fp32-1");
  REQUIRE(two.places.size() == 3);
  CHECK(two.places[0].median == 4);
  CHECK(two.places[0].minimum == 3);
  CHECK(two.places[0].maximum == 5);
  CHECK_FALSE(two.places[0].interval);
  CHECK(two.places[2].n == 1);
  CHECK(two.places[2].median == 1);
}

TEST_CASE("a long series is thinned out with both ends, and what is not finite is left out") {
  const plan::Plan plan = withLoss();
  Records records;
  std::vector<double> losses;
  for (int place = 1; place <= 5000; ++place) losses.push_back(place);
  losses[0] = INFINITY;
  losses[4999] = NAN;
  addCourse(records, "fp64-1", 1, losses);
  losses[4999] = 1;
  addCourse(records, "fp64-1", 2, losses);
  const judge::Index index(plan, records.results);
  const std::vector<Curve> curves = curvesOf(index, *plan.findMetric("loss"));
  REQUIRE(curves.size() == 1);
  CHECK(curves[0].places.size() == kMostCurvePlaces - 1);
  CHECK(curves[0].places.front().place > 1);
  CHECK(curves[0].places.back().place == 5000);
  CHECK(curves[0].places.back().n == 1);
}

TEST_CASE("curves and fronts are found for the plots that draw them") {
  plan::Plan plan = withLoss();
  Records records;
  addCourse(records, "fp64-1", 1, {2, 1});
  records.timed("fp64-1", 1, 2);
  records.timed("fp32-1", 1, 3);
  CHECK(describe(judge::Index(plan, records.results)).curves.empty());
  plan.plots = {{"loss", "epoch", {"precision"}}, {"loss", "epoch", {}}, {"accuracy", "step_time", {}}};
  const Description seen = describe(judge::Index(plan, records.results));
  CHECK(seen.curves.size() == 1);
  REQUIRE(seen.plotted.size() == 1);
  CHECK(seen.plotted[0].first == "step_time");
  CHECK(seen.plotted[0].second == "accuracy");
}

}  // namespace expc::describe
