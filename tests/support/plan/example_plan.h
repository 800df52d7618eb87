#pragma once

// A small plan with something in every field, for tests of the layers that read plans.

#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::plan {

inline TermPtr metricTerm(std::string metric, std::string point) {
  return termOf(MetricTerm{std::move(metric), std::move(point)});
}

inline TermPtr ratioTerm(TermPtr numerator, TermPtr denominator) {
  return termOf(OperationTerm{OperationTerm::Op::Ratio, {std::move(numerator), std::move(denominator)}});
}

/// The quick preset of experiments/precision.exp as a compiler would lower it: precision x gpus, 6 points, one gain
/// over precision, one criterion with confidence, one without, one not asked.
inline Plan examplePlan() {
  using json::Array;
  using json::Object;
  Plan plan;
  plan.study = "precision";
  plan.doc = "Does lower precision pay on one node, and does it keep the accuracy?";
  plan.source = "experiments/precision.exp";
  plan.root = "/work/experiments";
  plan.presets = {"quick"};
  plan.overrides = {"gpus=1,2"};
  plan.workloads = {{"", "image.mobilenet_v2", 1, std::nullopt}};
  plan.digest = "00112233445566778899aabbccddeeff";
  plan.factors = {
      Factor{"precision", {{"fp64", "fp64"}, {"fp32", "fp32"}, {"bf16", "bf16"}}, 0, {"fp64", "fp32", "bf16", "fp16"}},
      Factor{"gpus", {{"1", 1}, {"2", 2}}, 0, {"1", "2", "3", "4"}}};
  for (unsigned precision = 0; precision < 3; ++precision)
    for (unsigned gpus = 0; gpus < 2; ++gpus) {
      Point point;
      point.levels = {precision, gpus};
      point.parameters = Object{{"precision", plan.factors[0].levels[precision].value},
                                {"gpus", gpus + 1},
                                {"width", 0.5},
                                {"data", Object{{"mnist", "data/digits"}}}};
      point.id = base::shortHash(base::canonicalJson(Object(point.parameters)));
      plan.points.push_back(std::move(point));
    }
  plan.points[5].unavailable = "rule 'cards': the node has fewer cards";
  plan.removed = {
      {"narrow", "half precision is not in this preset", "precision.exp:11:3", 2, {{"fp16", "1"}, {"fp16", "2"}}}};
  plan.product = 8;
  plan.metrics = {{"step_time", "time", "s", Direction::Lower, TrialKind::Timed, false},
                  {"host_memory_peak", "bytes", "B", Direction::Lower, TrialKind::Timed, true},
                  {"accuracy", "share", "", Direction::Higher, TrialKind::Quality, false}};
  plan.data_paths = {"data/digits"};

  const auto id = [&](unsigned precision, unsigned gpus) { return plan.points[2 * precision + gpus].id; };
  Comparison gain{"gain",
                  "speedup(step_time) over precision against fp64",
                  "precision",
                  "x",
                  {"precision", "gpus"},
                  {},
                  1,
                  "'fp16' has no partner"};
  Criterion pays{"fp32_pays",
                 "forall gpus: gain[precision = fp32] >= 1.2x with confidence 95%",
                 "Half the width, less time.",
                 {"gpus"},
                 {},
                 false,
                 {Relation::GreaterEqual, 1.2, 0, ">= 1.2x"},
                 0.95,
                 "x",
                 {},
                 "gpus 1, 2 of 1..4; precision fp32",
                 false,
                 "gain = speedup(step_time) over precision against fp64"};
  for (unsigned precision = 1; precision < 3; ++precision)
    for (unsigned gpus = 0; gpus < 2; ++gpus) {
      Cell cell{{precision, gpus},
                ratioTerm(metricTerm("step_time", id(0, gpus)), metricTerm("step_time", id(precision, gpus))),
                Estimator::PairedRatio,
                TrialKind::Timed,
                {id(precision, gpus), id(0, gpus)}};
      gain.cells.push_back(cell);
      if (precision != 1) continue;
      cell.levels = {gpus};
      pays.claim.children.push_back({Claim::Kind::Cell, {}, unsigned(pays.cells.size())});
      pays.cells.push_back(std::move(cell));
    }
  Criterion learns{"learns",
                   "forall *: accuracy >= 90%",
                   "",
                   {"precision", "gpus"},
                   {},
                   false,
                   {Relation::GreaterEqual, 0.9, 0, ">= 90%"},
                   std::nullopt,
                   "",
                   {},
                   "precision fp64, fp32, bf16 of 4; gpus 1, 2 of 1..4",
                   false};
  for (const Point& point : plan.points) {
    learns.claim.children.push_back({Claim::Kind::Cell, {}, unsigned(learns.cells.size())});
    learns.cells.push_back(
        {point.levels, metricTerm("accuracy", point.id), Estimator::Median, TrialKind::Quality, {point.id}});
  }
  Criterion fp16{"fp16_pays",
                 "forall gpus: gain[precision = fp16] >= 2.0x with confidence 95%",
                 "",
                 {"gpus"},
                 {},
                 false,
                 {Relation::Within, 2.0, 9.0, "within 2.0x..9.0x"},
                 0.95,
                 "x",
                 {},
                 "precision fp16 of 4",
                 true};
  plan.comparisons = {std::move(gain)};
  plan.criteria = {std::move(pays), std::move(learns), std::move(fp16)};
  plan.design.kinds = {{TrialKind::Timed, 7, 7, {}, Object{{"steps", 20}, {"warmup", 5}}},
                       {TrialKind::Quality, 1, 1, {}, Object{{"epochs", 10}}}};
  plan.design.seed = 18446744073709551557u;
  plan.design.budget_seconds = 86400;
  plan.tables = {{"step_time", {"gpus", "precision"}}};
  plan.plots = {{"gain", "gpus", {"precision"}}};
  return plan;
}

}  // namespace expc::plan
