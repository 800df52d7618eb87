#pragma once

// For tests: a plan of precision x gpus built by hand, and records to go with it.

#include <map>
#include <string>
#include <vector>

#include "runtime/judge/judge.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::judge::test {

using plan::Bound;
using plan::Reason;
using plan::Relation;
using plan::TrialKind;
using store::TrialStatus;

inline plan::TermPtr term(auto node) { return plan::termOf(std::move(node)); }
inline plan::TermPtr metric(std::string name, plan::Place place) {
  return term(plan::MetricTerm{std::move(name), std::move(place)});
}

/// "fp32-2": the point of precision fp32 on 2 gpus.
inline std::string id(const std::string& precision, int gpus) { return precision + "-" + std::to_string(gpus); }

/// fp64 (baseline), fp32, bf16 on 1 and 2 gpus; timed trials with `repeat` blocks, quality trials with `quality`.
inline plan::Plan study(unsigned repeat = 7, unsigned quality = 1) {
  plan::Plan plan;
  plan.study = "precision";
  plan.factors = {{"precision", {{"fp64", "fp64"}, {"fp32", "fp32"}, {"bf16", "bf16"}}, 0, {"fp64", "fp32", "bf16"}},
                  {"gpus", {{"1", 1}, {"2", 2}}, 0, {"1", "2"}}};
  for (unsigned p = 0; p < 3; ++p) {
    for (unsigned g = 0; g < 2; ++g) {
      plan.points.push_back({id(plan.factors[0].levels[p].label, g + 1), 0, {p, g}, {}, "", "", {}});
    }
  }
  plan.metrics = {{"step_time", "time", "s", plan::Direction::Lower, TrialKind::Timed, false},
                  {"images_per_s", "images/time", "img/s", plan::Direction::Higher, TrialKind::Timed, false},
                  {"memory", "bytes", "B", plan::Direction::Lower, TrialKind::Timed, true},
                  {"accuracy", "share", "", plan::Direction::Higher, TrialKind::Quality, false}};
  plan.design.kinds.push_back({TrialKind::Timed, repeat, repeat, {}, {}});
  if (quality > 0) plan.design.kinds.push_back({TrialKind::Quality, quality, quality, {}, {}});
  return plan;
}

/// Levels of the study above.
inline std::vector<unsigned> levels(const std::string& precision, unsigned gpus) {
  return {precision == "fp64" ? 0u : precision == "fp32" ? 1u : 2u, gpus - 1};
}

/// speedup(step_time) of `precision` against fp64 on each number of gpus.
inline std::vector<plan::Cell> gainCells(const std::string& precision = "fp32") {
  std::vector<plan::Cell> cells;
  for (const int gpus : {1, 2}) {
    const std::string treated = id(precision, gpus), baseline = id("fp64", gpus);
    plan::Cell cell;
    cell.levels = levels(precision, gpus);
    cell.term = term(plan::OperationTerm{plan::OperationTerm::Op::Ratio,
                                         {metric("step_time", baseline), metric("step_time", treated)}});
    cell.estimator = plan::Estimator::PairedRatio;
    cell.points = {treated, baseline};
    cells.push_back(cell);
  }
  return cells;
}

/// A metric at every point.
inline std::vector<plan::Cell> metricCells(const plan::Plan& plan, const std::string& name) {
  std::vector<plan::Cell> cells;
  for (const plan::Point& point : plan.points) {
    plan::Cell cell;
    cell.levels = point.levels;
    cell.term = metric(name, point.id);
    cell.kind = plan.findMetric(name)->kind;
    cell.points = {point.id};
    cells.push_back(cell);
  }
  return cells;
}

inline plan::Claim quantified(plan::Claim::Kind kind, size_t cells) {
  plan::Claim claim{kind, {}, 0};
  for (unsigned i = 0; i < cells; ++i) claim.children.push_back({plan::Claim::Kind::Cell, {}, i});
  return claim;
}

inline plan::Criterion criterion(std::vector<plan::Cell> cells, Bound bound, std::string unit,
                                 std::optional<double> confidence, plan::Claim::Kind kind = plan::Claim::Kind::ForAll) {
  plan::Criterion criterion;
  criterion.name = "claim";
  criterion.factors = {"precision", "gpus"};
  criterion.claim = quantified(kind, cells.size());
  criterion.cells = std::move(cells);
  criterion.bound = std::move(bound);
  criterion.unit = std::move(unit);
  criterion.confidence = confidence;
  return criterion;
}

/// The cells of a claim of fp32 on both numbers of gpus with two assertions: the speed-ups first, then the memory. The
/// caller adds the assertions and joins them.
inline plan::Criterion gainAndMemory() {
  plan::Criterion claim = criterion(gainCells(), {}, "", 0.95);
  for (const int gpus : {1, 2}) {
    plan::Cell cell;
    cell.levels = levels("fp32", unsigned(gpus));
    cell.term = metric("memory", id("fp32", gpus));
    cell.points = {id("fp32", gpus)};
    cell.assertion = 1;
    claim.cells.push_back(cell);
  }
  return claim;
}

/// That both bf16 points run out of memory.
inline plan::Criterion outOfMemory(plan::Claim::Kind kind = plan::Claim::Kind::ForAll) {
  std::vector<plan::Cell> cells;
  for (const int gpus : {1, 2}) {
    plan::Cell cell;
    cell.levels = levels("bf16", gpus);
    cell.term = term(plan::ConstantTerm{0});
    cell.points = {id("bf16", gpus)};
    cells.push_back(std::move(cell));
  }
  plan::Criterion claim = criterion(std::move(cells), {}, "", std::nullopt, kind);
  claim.infeasible = true;
  return claim;
}

inline Bound atLeast(double value, std::string text) {
  return {Relation::GreaterEqual, value, 0, ">= " + std::move(text)};
}
inline Bound atMost(double value, std::string text) { return {Relation::LessEqual, value, 0, "<= " + std::move(text)}; }

/// The key of a trial of which only place and kind, and perhaps the machine, matter.
inline store::Key keyOf(const plan::Place& place, TrialKind kind, std::string environment_class = "") {
  store::TrialKey key;
  key.place = place;
  key.kind = kind;
  key.environment_class = std::move(environment_class);
  return std::make_shared<const store::TrialKey>(std::move(key));
}

/// Records, a trial at a time; blocks and sessions come into being as they are named.
struct Records {
  store::Results results;

  store::Trial& add(const plan::Place& place, TrialKind kind, int64_t block, TrialStatus status,
                    std::map<std::string, double> metrics = {}, int64_t session = 1) {
    bool known = false;
    for (const store::Session& other : results.sessions) known = known || other.id == session;
    if (!known) {
      store::Session opened;
      opened.id = session;
      opened.where.nodes = {"node1"};
      results.sessions.push_back(opened);
    }
    store::Trial trial;
    trial.id = int64_t(results.trials.size()) + 1;
    trial.key = keyOf(place, kind);
    trial.block = block;
    trial.session = session;
    trial.status = status;
    trial.metrics = std::move(metrics);
    results.trials.push_back(trial);
    return results.trials.back();
  }
  void runsOut(const plan::Place& point, int64_t block) {
    add(point, TrialKind::Timed, block, TrialStatus::Infeasible).reason = "out of memory";
  }
  store::Trial& timed(const plan::Place& point, int64_t block, double step_time, int64_t session = 1) {
    return add(point, TrialKind::Timed, block, TrialStatus::Valid,
               {{"step_time", step_time}, {"images_per_s", 64 / step_time}, {"memory", 1024.0 * 1024 * 1024}}, session);
  }
  store::Trial& accuracy(const std::string& point, int64_t block, double value) {
    return add(point, TrialKind::Quality, 1000 + block, TrialStatus::Valid, {{"accuracy", value}});
  }
  /// fp64 takes 100 ms with a drift that blocks share, `precision` is `gain` times as fast, give or take `spread` by
  /// block.
  void pairs(unsigned blocks, double gain, double spread = 0.01, const std::string& precision = "fp32",
             int first_block = 1) {
    for (unsigned b = 0; b < blocks; ++b) {
      for (const int gpus : {1, 2}) {
        const double drift = 1 + 0.2 * ((b * 7) % 5);
        const double wobble = 1 + spread * (int((b * 3 + gpus) % 7) - 3) / 3.0;
        if (precision != "bf16") timed(id("fp64", gpus), first_block + b, 0.1 * drift);
        timed(id(precision, gpus), first_block + b, 0.1 * drift / (gain * wobble));
      }
    }
  }
};

/// doctest finds expc's toString and cannot print what it returns.
inline std::string word(Verdict verdict) { return std::string(toString(verdict)); }

/// Whether it is this reason, with these numbers where some are given.
inline bool is(const plan::Why& why, Reason::Code code, const std::vector<double>& numbers = {}) {
  return why && why->code == code && (numbers.empty() || why->numbers == numbers);
}

/// The verdict of one criterion on these records.
inline CriterionResult judged(plan::Plan plan, plan::Criterion criterion, const Records& records) {
  plan.criteria.push_back(std::move(criterion));
  return judge(plan, records.results).criteria.back();
}

/// Whether fp32 is `bound` times as fast as fp64, with 95 % confidence.
inline CriterionResult judgedGain(const Records& records, double bound, std::string text,
                                  plan::Claim::Kind kind = plan::Claim::Kind::ForAll) {
  return judged(study(), criterion(gainCells(), atLeast(bound, std::move(text)), "x", 0.95, kind), records);
}

}  // namespace expc::judge::test
