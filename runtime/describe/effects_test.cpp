#include <doctest/doctest.h>

#include <cmath>

#include "runtime/describe/description.h"
#include "tests/support/judge/study.h"

namespace expc::describe {
namespace {

using namespace judge::test;

// Drawn by effects_figures.py, which also made the shares and contrasts below with statsmodels.
constexpr double kTimes[] = {2.346626, 1.669383, 1.481028, 1.046069, 1.104928, 0.789538, 1.93383,  1.409545,
                             1.198802, 0.835065, 0.879133, 0.646259, 1.797989, 1.22645,  1.093861, 0.789496,
                             0.810981, 0.603488, 2.376156, 1.559675, 1.420381, 1.015512, 1.097773, 0.77817,
                             2.005093, 1.294229, 1.185079, 0.854956, 0.893375, 0.65539,  2.034901, 1.4732,
                             1.281226, 0.890153, 0.972913, 0.726891, 1.885127, 1.291812, 1.167037, 0.846737,
                             0.878509, 0.64365,  2.241293, 1.480893, 1.381051, 0.97318,  1.00689,  0.737497};

Records drawn() {
  Records records;
  size_t i = 0;
  for (int64_t block = 1; block <= 8; ++block)
    for (const char* precision : {"fp64", "fp32", "bf16"})
      for (const int gpus : {1, 2}) records.timed(id(precision, gpus), block, kTimes[i++]);
  return records;
}

const FactorEffect& effectOf(const Effects& effects, const std::vector<std::string>& factors) {
  for (const FactorEffect& effect : effects.effects)
    if (effect.factors == factors) return effect;
  FAIL("no such effect");
  return effects.effects.front();
}

double ratioOf(const FactorEffect& effect, const std::vector<std::string>& labels) {
  for (const LevelEffect& level : effect.levels)
    if (level.labels == labels) return level.ratio;
  return 0;
}

}  // namespace

TEST_CASE("effects and shares of the variation are those of statsmodels") {
  const plan::Plan plan = study();
  const Records records = drawn();
  const judge::Index index(plan, records.results);
  const auto effects = effectsOn(index, *plan.findMetric("step_time"));
  REQUIRE(effects);
  const auto near = [](double value) { return doctest::Approx(value).epsilon(1e-9); };
  CHECK(effects->mean == near(1.1420023842253826));
  CHECK(effects->between_blocks == near(0.06982317177322189));
  CHECK(effects->error == near(0.0021782711528041624));
  CHECK(effects->higher == 0);
  CHECK(effects->blocks == 8);
  CHECK(effects->left_out == 0);
  const FactorEffect& precision = effectOf(*effects, {"precision"});
  CHECK(&precision == &effects->effects.front());
  CHECK(precision.share == near(0.7064816713904094));
  CHECK(std::log(ratioOf(precision, {"bf16"})) == near(-0.3404980002017084));
  CHECK(std::log(ratioOf(precision, {"fp32"})) == near(-0.06485537692960126));
  CHECK(effectOf(*effects, {"gpus"}).share == near(0.22026843284739042));
  CHECK(std::log(ratioOf(effectOf(*effects, {"gpus"}), {"1"})) == near(0.17193843163428735));
  const FactorEffect& both = effectOf(*effects, {"precision", "gpus"});
  CHECK(both.share == near(0.0012484528361739857));
  CHECK(std::log(ratioOf(both, {"bf16", "1"})) == near(-0.01524090585930743));
  CHECK(std::log(ratioOf(both, {"fp32", "1"})) == near(-0.0011615432778058071));
  for (const LevelEffect& level : precision.levels) {
    REQUIRE(level.interval);
    CHECK(level.interval->low < level.ratio);
    CHECK(level.interval->high > level.ratio);
    CHECK(level.interval->high / level.interval->low < 1.05);
  }
}

TEST_CASE("of an unbalanced grid the largest complete part is taken, and named") {
  const plan::Plan plan = study();
  Records records = drawn();
  std::erase_if(records.results.trials, [](const store::Trial& trial) { return trial.place().point == "bf16-2"; });
  const auto effects = effectsOn(judge::Index(plan, records.results), *plan.findMetric("step_time"));
  REQUIRE(effects);
  CHECK(effects->points == 4);
  CHECK(effects->left_out == 1);
  CHECK(effects->grid[0].second == std::vector<std::string>{"fp64", "fp32"});
  CHECK(effects->grid[1].second == std::vector<std::string>{"1", "2"});
  // A block that lacks a point is left out, and the others are not.
  records.results.trials.erase(records.results.trials.begin());
  CHECK(effectsOn(judge::Index(plan, records.results), *plan.findMetric("step_time"))->blocks == 7);
}

TEST_CASE("what cannot be compared has no effects") {
  const plan::Plan plan = study();
  Records one;
  for (int64_t block = 1; block <= 3; ++block) one.timed("fp64-1", block, 1);
  CHECK_FALSE(effectsOn(judge::Index(plan, one.results), *plan.findMetric("step_time")));
  Records apart;
  apart.timed("fp64-1", 1, 1);
  apart.timed("fp32-1", 2, 1);
  CHECK_FALSE(effectsOn(judge::Index(plan, apart.results), *plan.findMetric("step_time")));
  Records zero = drawn();
  zero.results.trials[3].metrics["step_time"] = 0;
  CHECK_FALSE(effectsOn(judge::Index(plan, zero.results), *plan.findMetric("step_time")));
}

}  // namespace expc::describe
