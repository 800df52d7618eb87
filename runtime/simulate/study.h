#pragma once

// Simulates one study: draws the plan's blocks until no trial is wanted any more, and judges them as stored ones are. A
// plan and a model come in, the endings of scenarios go out; repeating studies is left to diagnosis.h.

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/simulate/model.h"

namespace expc::simulate {

/// The bound that each cell is held to, by criterion and cell of a plan. Moving a bound equals moving the truth, since
/// an interval moves with what it estimates. So one draw serves every truth that is asked about.
using Scenario = std::vector<std::vector<plan::Bound>>;

/// The outcome of one scenario.
struct Ending {
  /// Reasons, by criterion, that keep it open whatever its intervals say: a control, or a budget that was spent before.
  std::vector<bool> untrusted, cut_off;
  std::vector<analysis::Verdict> verdicts;  // by criterion; Inconclusive where a control leaves it untrusted
  std::map<plan::TrialKind, unsigned> blocks;
  std::map<plan::TrialKind, uint64_t> trials;  // every attempt
  std::map<plan::TrialKind, double> seconds;   // that these took
};

/// Cells whose interval covers what is true of them.
struct Coverage {
  uint64_t covered = 0, cells = 0;
};

struct Drawn {
  std::vector<Ending> endings;     // by scenario
  std::vector<Coverage> coverage;  // by criterion, where the first scenario ends
  std::vector<double> reach;       // by criterion: mean half-width of its intervals there; NaN where there is none
};

/// One plan with all that its draws share.
struct Study {
  struct Kind {
    const plan::KindDesign* design = nullptr;
    std::vector<size_t> metrics = {};   // indices into Model::metrics
    std::vector<store::Key> keys = {};  // by the index's number of the place
    double seconds = 0;                 // of a trial; 0: not known
    const std::vector<std::vector<double>>* residuals = nullptr;
    const std::vector<PointEnds>* ends = nullptr;
  };

  const plan::Plan& plan;
  const Model& model;
  /// The true value of each cell's term, by criterion and cell, without noise and timeouts; NaN where it has no value.
  const std::vector<std::vector<double>>& truths;
  std::vector<Kind> kinds = {};
  /// Whether a factor moves the truth of each criterion, so that reaches are shares: for ratios, and for values above
  /// zero whose noise multiplies them and that have no step. Otherwise the truth moves by a distance in the metric's
  /// unit.
  std::vector<bool> by_factor = {};
  /// The step in which values can be read, by criterion and cell. The truth moves by multiples of it, so that values
  /// tie with the bound as often as they would; 0: any.
  std::vector<std::vector<double>> steps = {};
  std::vector<size_t> point_of = {};  // by the index's number of the place
  bool timeouts = true;               // whether trials time out
};
Study studyOf(const plan::Plan& plan, const Model& model, const std::vector<std::vector<double>>& truths);

/// One study, judged by every scenario: the same for the same seed. Criteria that `whyNotSimulated` refuses stay
/// undecided.
Drawn draw(const Study& study, const std::vector<Scenario>& scenarios, uint64_t seed);

/// Why trials that are drawn cannot decide the criterion; null where they can.
plan::Why whyNotSimulated(const plan::Criterion& criterion);

}  // namespace expc::simulate
