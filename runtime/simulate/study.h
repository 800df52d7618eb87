#pragma once

// One simulated study: the plan's blocks are drawn until nothing is wanted any more, and judged as stored ones are.

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/simulate/model.h"

namespace expc::simulate {

/// By criterion of a plan and cell: the bound that it is held to. Moving a bound is as good as moving the truth: an
/// interval moves with what it estimates. So one draw serves every truth that is asked about.
using Scenario = std::vector<std::vector<plan::Bound>>;

/// What became of one scenario.
struct Ending {
  /// By criterion, what keeps it open whatever its intervals say: a control, or a budget that was spent before.
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
  /// By criterion and cell: what the term of the cell is without noise and timeouts; NaN where it has no value.
  const std::vector<std::vector<double>>& truths;
  std::vector<Kind> kinds = {};
  /// By criterion: whether its truth is moved by a factor, and reaches are shares: ratios, and values above zero whose
  /// noise multiplies them and that have no step. Else by a distance in its unit.
  std::vector<bool> by_factor = {};
  /// By criterion and cell: the step in which its values can be read, by multiples of which its truth is moved, so that
  /// values tie with the bound as often as they would; 0: any.
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
