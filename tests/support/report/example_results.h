#pragma once

// Results and their judgement for plan::examplePlan(), by hand, with one of everything that a report shows: for tests.

#include "runtime/describe/description.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "runtime/store/records.h"
#include "tests/support/plan/example_plan.h"

namespace expc::report {

struct Example {
  plan::Plan plan = plan::examplePlan();
  describe::Conclusions judgement;
  store::Results results;
};

/// Seven values around `centre` with about 2 % of scatter, always the same.
inline std::vector<double> exampleValues(double centre, unsigned n = 7) {
  static constexpr double kScatter[] = {0.4, -1.1, 1.9, -0.3, 0.8, -1.6, 0.1};
  std::vector<double> values;
  for (unsigned i = 0; i < n; ++i) values.push_back(centre * (1 + 0.01 * kScatter[i % 7]));
  return values;
}

inline plan::Why exampleWhy(std::string text) {
  return plan::because({.code = plan::Reason::Said, .said = std::move(text)});
}

inline judge::CellEstimate exampleCell(unsigned cell, double estimate, judge::Verdict verdict,
                                       plan::Why why = nullptr) {
  judge::CellEstimate result;
  result.cell = cell;
  result.estimate = estimate;
  result.interval = stats::Interval{estimate * 0.985, estimate * 1.017, 0.984};
  result.scope = {7, 7, 0, 1, 1};
  result.values = exampleValues(estimate);
  result.verdict = verdict;
  result.why = std::move(why);
  return result;
}

/// A control by which the same twice differs by 20 %, where a claim of 10 % asks for 5 %.
inline judge::Distrust exampleDistrust(const plan::Plan& plan) {
  return {{"again", plan.points[0].id, "step_time", true, exampleCell(0, 1.2, judge::Verdict::NotRun)}, 0.1, true};
}

/// A trial of which only what it was of matters, and perhaps the machine.
inline store::Key exampleKey(const plan::Place& place, plan::TrialKind kind = plan::TrialKind::Timed,
                             std::string environment_class = "") {
  store::TrialKey key;
  key.place = place;
  key.kind = kind;
  key.environment_class = std::move(environment_class);
  return std::make_shared<const store::TrialKey>(std::move(key));
}

/// One of everything beside the verdicts.
inline describe::Description exampleDescription(const plan::Plan& plan) {
  const stats::Interval around{0.9, 1.1, 0.95};
  describe::Description seen;
  describe::Effects effects;
  effects.metric = "step_time";
  effects.grid = {{"precision", {"fp64", "fp32"}}, {"gpus", {"1", "2"}}};
  effects.points = 4;
  effects.left_out = 1;
  effects.blocks = 7;
  effects.mean = 0.08;
  effects.effects = {{{"precision"}, {{{"fp64"}, 1.25, around}, {{"fp32"}, 0.8, around}}, 0.9},
                     {{"precision", "gpus"}, {{{"fp64", "1"}, 1.1, around}, {{"fp64", "2"}, 0.9, std::nullopt}}, 0.05}};
  effects.error = 0.05;
  seen.effects = {effects};
  seen.rankings = {
      {"step_time", {{plan.points[1].id, 1, 0.06, 7}, {plan.points[0].id, 2, 0.1, 7}, {plan.points[2].id, 2, 0.1, 7}}}};
  seen.fronts = {{"step_time", "accuracy", {{plan.points[1].id, 0.06, 0.97}, {plan.points[0].id, 0.1, 0.98}}, 1}};
  seen.drifts = {{"step_time", 7, 1.05, 0.002, 1.2}};
  seen.outliers = {{"step_time", plan.points[0].id, 1, 0, 0.12, 0.1}};
  return seen;
}

inline Example exampleResults() {
  using judge::Verdict;
  Example example;
  const plan::Plan& plan = example.plan;
  const double times[] = {0.0412, 0.0231, 0.0268, 0.0149, 0.0331};
  const double shares[] = {0.961, 0.958, 0.958, 0.944, 0.953};
  for (size_t i = 0; i < plan.points.size(); ++i) {
    const std::string& id = plan.points[i].id;
    const bool ran = plan.points[i].unavailable.empty();
    judge::PointStatus timed{{.valid = ran ? 7u : 0u}, id, plan::TrialKind::Timed, 7};
    if (i == 4) timed.failed = 1, timed.last_reason = "rank 1 died";
    example.judgement.points.push_back(timed);
    example.judgement.points.push_back({{.valid = ran ? 1u : 0u}, id, plan::TrialKind::Quality, 1});
    if (!ran) continue;
    example.judgement.summaries.push_back({id, "step_time", 7, 0, false, times[i], times[i] * 0.98, times[i] * 1.02,
                                           stats::Interval{times[i] * 0.984, times[i] * 1.019, 0.984},
                                           exampleValues(times[i]),
                                           i == 2 ? std::vector<unsigned>{2} : std::vector<unsigned>{}});
    example.judgement.summaries.push_back(
        {id, "host_memory_peak", 7, 0, true, 0x1p29, 0x1p29, 0x1p29, std::nullopt, std::vector<double>(7, 0x1p29), {}});
    example.judgement.summaries.push_back(
        {id, "accuracy", 1, 0, false, shares[i], shares[i], shares[i], std::nullopt, {shares[i]}, {}});
  }

  judge::ComparisonResult gain{"gain", {}};
  gain.cells = {exampleCell(0, 1.54, Verdict::Pass), exampleCell(1, 1.55, Verdict::Pass),
                exampleCell(2, 1.245, Verdict::Pass)};
  judge::CellEstimate missing;
  missing.cell = 3;
  missing.scope = {7, 0, 7, 0, 0};
  missing.why = exampleWhy("needs 6 pairs, has 0");
  gain.cells.push_back(missing);
  example.judgement.comparisons = {gain};

  judge::CriterionResult pays{
      "fp32_pays", Verdict::Pass, exampleWhy("every cell's interval lies above 1.2x"), {7, 7, 0, 1, 1}, {}, {}};
  pays.cells = {exampleCell(0, 1.54, Verdict::Pass), exampleCell(1, 1.55, Verdict::Pass)};
  judge::CriterionResult learns{"learns",
                                Verdict::Fail,
                                exampleWhy("accuracy < 90% at precision=fp32 gpus=2: \"<b>87.1 %</b>\" & so on"),
                                {1, 1, 0, 1, 1},
                                {},
                                {}};
  for (unsigned cell = 0; cell < 5; ++cell) {
    judge::CellEstimate estimate;
    estimate.cell = cell;
    estimate.estimate = cell == 3 ? 0.871 : shares[cell];
    estimate.scope = {1, 1, 0, 1, 1};
    estimate.values = {*estimate.estimate};
    estimate.verdict = cell == 3 ? Verdict::Fail : Verdict::Pass;
    if (cell == 3) estimate.why = exampleWhy("1 of 1 below 90 %");
    learns.cells.push_back(estimate);
  }
  judge::CriterionResult asked{"fp16_pays", Verdict::NotAsked, exampleWhy("the preset leaves it no point"), {}, {}, {}};
  example.judgement.criteria = {pays, learns, asked};

  store::Session session;
  session.id = 1;
  session.where.nodes = {"node07"};
  session.workers = {{"0.1.0+8be2", "cpu-4f1c"}};
  session.environment_json =
      R"({"cpu":{"model":"Example CPU @ 2.4 GHz","cores":2},"kernel":"6.1.0","governor":"performance"})";
  session.opened.wall = 1763700000;
  session.last_seen.wall = 1763700600;
  example.results.sessions = {session};
  store::Trial good;
  good.id = 1;
  good.key = exampleKey(plan.points[0].id);
  good.status = store::TrialStatus::Valid;
  good.environment_json = R"({"threads":1,"torch":"2.11.0"})";
  store::Trial lost = good;
  lost.id = 2;
  lost.key = exampleKey(plan.points[4].id);
  lost.status = store::TrialStatus::Failed;
  lost.reason = "rank 1 died of signal 11 \033[31m<script>alert(1)</script>";
  lost.log_tail = "loading data/digits\n</pre><script>alert(2)</script>\nSegmentation fault";
  lost.environment_json = R"({"threads":2,"torch":"2.11.0"})";
  lost.notes = {"core dumped"};
  example.results.trials = {good, lost};
  example.results.kept_not_counted = 3;
  example.results.not_counted_reasons = {"3 trials with steps 10 instead of 20"};
  example.judgement.description = exampleDescription(plan);
  return example;
}

/// Turns an example into one that null cards measured, with its verdicts withheld as judge::judge does.
inline Example onNullCards(Example example) {
  for (store::Session& session : example.results.sessions) session.workers = {{"0.1.0+8be2", "null-4f1c"}};
  for (store::Trial& trial : example.results.trials)
    trial.key = exampleKey(trial.place(), trial.key->kind, "null-4f1c");
  judge::withholdVerdicts(example.judgement);
  return example;
}

/// Adds profile trials of fp64 and fp32 on one device: a step of 100 ms against one of 60 ms.
inline Example withProfiles(Example example) {
  for (const unsigned level : {0u, 1u}) {
    store::Trial trial;
    trial.id = 100 + level;
    trial.key = exampleKey(example.plan.points[2 * level].id, plan::TrialKind::Profile);
    trial.status = store::TrialStatus::Valid;
    trial.block = 50;
    trial.session = 1;
    const double scale = level == 0 ? 1 : 0.5;
    trial.series = {{"profile.total", {level == 0 ? 1.0 : 0.6, 10}},
                    {"profile.step.load", {0.05, 10, 0}},
                    {"profile.step.forward", {0.3 * scale, 10, 0}},
                    {"profile.step.backward", {0.6 * scale, 10, 0}},
                    {"profile.beside.all_reduce", {0.02, 20, 0}},
                    {"profile.operator.aten::mkldnn_convolution", {0.4 * scale, 520, 0}},
                    {"profile.operator.<b>evil</b>", {0.1, 10, 0}}};
    example.results.trials.push_back(std::move(trial));
  }
  return example;
}

}  // namespace expc::report
