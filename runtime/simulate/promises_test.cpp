// What intervals and verdicts keep of their promises under noise of several shapes, found by simulation.

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/simulate/diagnosis.h"
#include "runtime/stats/estimators.h"

namespace expc::simulate {
namespace {

constexpr double kConfidence = 0.95;
/// Coverage of the median that is left where one side alone has a long tail and there are 20 pairs: ten pairs rarely
/// show it, and with more the sign test's interval takes over (docs/layers/statistics.md).
constexpr double kUnequalCoverage = 0.915;
constexpr double kNoise = 0.02;

using Draw = std::function<double(stats::NormalStream&)>;

struct Shape {
  const char* name;
  Draw baseline, treated;
  double drift = 0;  // between blocks, in noises
  double least_coverage = kConfidence;
};

double normal(stats::NormalStream& stream) { return stream.next(); }
double exponential(stats::NormalStream& stream) { return -std::log(stream.uniform()); }
double skewed(stats::NormalStream& stream) { return std::exp(0.5 * stream.next()); }
double heavy(stats::NormalStream& stream) { return stream.uniform() < 0.1 ? 20 * stream.next() : stream.next(); }
double tied(stats::NormalStream& stream) { return std::floor(5 * stream.uniform()); }

std::vector<Shape> shapes() {
  return {{"symmetric (normal)", normal, normal},
          {"skewed (lognormal)", skewed, skewed},
          {"heavy tails (a tenth is 20 times as wide)", heavy, heavy},
          {"drifting (blocks lie 10 times as far apart)", normal, normal, 10},
          {"tied (five values)", tied, tied},
          {"unequal (exponential on one side)", normal, exponential, 0, kUnequalCoverage}};
}

struct Design {
  const char* name;
  unsigned repeat, most = 0;
  std::vector<unsigned> looks = {};
};

std::vector<Design> designs() {
  return {{"10 pairs", 10},
          {"20 pairs", 20},
          {"20 pairs, looks at 8, 14", 20, 0, {8, 14}},
          {"10 to 30 pairs until narrow", 10, 30}};
}

/// "fast is at least as fast as slow" and "fast is faster than slow", of two points. Where both are as fast, the first
/// is true and must not fail, and the second is not and must not pass.
plan::Plan claimOf(const Design& design) {
  plan::Plan plan;
  plan.study = "promises";
  plan.factors = {{"side", {{"slow", "slow"}, {"fast", "fast"}}, 0, {"slow", "fast"}}};
  for (unsigned i = 0; i < 2; ++i) plan.points.push_back({i == 0 ? "slow" : "fast", 0, {i}, {}, "", "", {}});
  plan.metrics = {{"time", "time", "s", plan::Direction::Lower, plan::TrialKind::Timed}};
  const auto time = [](const char* point) {
    return std::make_shared<const plan::Term>(plan::Term{plan::MetricTerm{"time", point}});
  };
  plan::Cell cell;
  cell.labels = {"fast"};
  cell.term = std::make_shared<const plan::Term>(
      plan::Term{plan::OperationTerm{plan::OperationTerm::Op::Ratio, {time("slow"), time("fast")}}});
  cell.estimator = plan::Estimator::PairedRatio;
  cell.points = {"fast", "slow"};
  plan.comparisons.push_back({"gain", "speedup(time) over side", "side", "x", {"side"}, {cell}, 0, ""});
  plan::Criterion criterion;
  criterion.name = "claim";
  criterion.factors = {"side"};
  criterion.cells = {cell};
  criterion.bound = {plan::Relation::GreaterEqual, 1, 0, ">= 1x"};
  criterion.confidence = kConfidence;
  criterion.unit = "x";
  criterion.claim = {plan::Claim::Kind::ForAll, {{plan::Claim::Kind::Cell, {}, 0}}, 0};
  plan.criteria = {criterion, criterion};
  plan.criteria[1].bound = {plan::Relation::Greater, 1, 0, "> 1x"};
  plan.criteria[1].name = "faster";
  plan::KindDesign kind;
  kind.repeat = kind.repeat_most = design.repeat;
  kind.looks = design.looks;
  if (design.most > 0) {
    kind.repeat_most = design.most;
    kind.until = {{"gain", 0.9 * kNoise, true}};
  }
  plan.design.kinds = {kind};
  return plan;
}

/// The median of baseline less treated: with it taken away, the median of the ratios is 1.
double medianOf(const Shape& shape) {
  constexpr unsigned kDraws = 200'001;
  stats::NormalStream stream(11);
  std::vector<double> differences(kDraws);
  for (double& difference : differences) difference = shape.baseline(stream) - shape.treated(stream);
  return *stats::orderStatistics(differences).estimate();
}

/// Four standard errors of a share.
double slack(double share, unsigned studies) { return 4 * std::sqrt(share * (1 - share) / studies); }

}  // namespace

TEST_CASE("intervals and verdicts keep what the docs promise, whatever the noise, the looks and the stops") {
  constexpr unsigned kStudies = 300;
  for (const Shape& shape : shapes()) {
    const double median = medianOf(shape), wrong = 1 - shape.least_coverage;
    for (const Design& design : designs()) {
      CAPTURE(shape.name);
      CAPTURE(design.name);
      const plan::Plan plan = claimOf(design);
      Model model = modelOf(plan, {}, {{{"time", kNoise}}, 0});
      model.metrics[0].drift = shape.drift * kNoise;
      model.shape = [&](stats::NormalStream& stream, size_t point) {
        return point == 0 ? shape.baseline(stream) - median : shape.treated(stream);
      };
      const Diagnosis found = diagnose(plan, std::move(model), {kStudies, 1, {{"claim", 1}, {"faster", 1}}, false});
      const CriterionDiagnosis& claim = found.design.criteria[0];
      const CriterionDiagnosis& faster = found.design.criteria[1];
      CHECK(claim.coverage.value_or(0) >= shape.least_coverage - slack(wrong, kStudies));
      CHECK(faster.chances->pass + claim.chances->fail <= wrong + slack(wrong, kStudies));
    }
  }
}

}  // namespace expc::simulate
