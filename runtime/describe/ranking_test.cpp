#include <doctest/doctest.h>

#include <random>

#include "runtime/describe/description.h"
#include "tests/support/judge/study.h"

namespace expc::describe {

using namespace judge::test;

TEST_CASE("points rank by their medians, and what blocks do not tell apart shares a rank") {
  const plan::Plan plan = study();
  Records records;
  for (int64_t block = 1; block <= 8; ++block) {
    const double drift = 1 + 0.3 * double(block % 3);
    records.timed("fp64-1", block, 2 * drift);
    records.timed("fp32-1", block, 1 * drift);
    records.timed("bf16-1", block, drift * (block % 2 ? 1.001 : 0.999));  // as fast as fp32
    records.timed("fp64-2", block, 1.5 * drift);
  }
  const judge::Index index(plan, records.results);
  const std::vector<Ranked> times = rank(index, *plan.findMetric("step_time"));
  REQUIRE(times.size() == 4);
  CHECK(times[0].rank == 1);
  CHECK(times[1].rank == 1);
  CHECK(times[2].point == "fp64-2");
  CHECK(times[2].rank == 3);
  CHECK(times[3].rank == 4);
  CHECK(times[3].n == 8);
  // Where higher is better the order is the other way round.
  CHECK(rank(index, *plan.findMetric("images_per_s")).back().point == "fp64-1");
}

TEST_CASE("few blocks rank nothing, and two points take six") {
  const plan::Plan plan = study();
  Records records;
  for (int64_t block = 1; block <= 3; ++block) {
    records.timed("fp64-1", block, 1 + 0.1 * double(block));
    records.timed("fp32-1", block, 1.05 + 0.1 * double(block));
    records.timed("bf16-1", block, 3);
  }
  const std::vector<Ranked> times = rank(judge::Index(plan, records.results), *plan.findMetric("step_time"));
  REQUIRE(times.size() == 3);
  CHECK(times[2].point == "bf16-1");
  for (const Ranked& one : times) CHECK_FALSE(one.rank);
  CHECK(rankBlocks(2) == 6);
  CHECK(rankBlocks(3) == 7);
  CHECK(rankBlocks(5) == 9);
}

TEST_CASE("points that do not differ are told apart in 5 % of all rankings") {
  const plan::Plan plan = study();
  std::mt19937 generator(3);
  std::normal_distribution<double> noise(1, 0.05);
  for (const int64_t blocks : {3, 8, 12}) {
    unsigned apart = 0;
    for (int ranking = 0; ranking < 300; ++ranking) {
      Records records;
      for (int64_t block = 1; block <= blocks; ++block)
        for (const char* point : {"fp64-1", "fp32-1", "bf16-1", "fp64-2"})
          records.timed(point, block, noise(generator));
      apart += rank(judge::Index(plan, records.results), *plan.findMetric("step_time")).back().rank > 1u;
    }
    CHECK(apart <= 0.076 * 300);
  }
}

TEST_CASE("the front of two metrics holds what no other point beats in both") {
  plan::Plan plan = study();
  Records records;
  const std::map<std::string, std::pair<double, double>> points{
      {"fp64-1", {3, 0.99}}, {"fp32-1", {2, 0.98}}, {"bf16-1", {1, 0.90}}, {"bf16-2", {2.5, 0.97}}};
  for (const auto& [point, values] : points) {
    records.timed(point, 1, values.first);
    records.accuracy(point, 1, values.second);
  }
  const Front front =
      paretoFront(judge::Index(plan, records.results), *plan.findMetric("step_time"), *plan.findMetric("accuracy"));
  REQUIRE(front.points.size() == 3);
  CHECK(front.points[0].point == "bf16-1");
  CHECK(front.points[2].point == "fp64-1");
  CHECK(front.beaten == 1);
}

}  // namespace expc::describe
