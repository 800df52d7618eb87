#pragma once

// Simulates one study: draws the plan's blocks until no trial is wanted any more, and judges them as stored ones are. A
// plan and a model come in, the endings of scenarios go out; repeating studies is left to diagnosis.h.

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/simulate/model.h"

namespace expc::simulate {

/// The criteria of a plan with the bounds of its cells moved. Moving a bound is the same as moving the truth, since an
/// interval moves with what it estimates. So one set of draws serves every truth in question.
using Scenario = std::vector<Criterion>;

/// The outcome of one scenario.
struct Ending {
  /// Conditions, by criterion, that keep it open whatever its intervals say: a control leaves it untrusted, or the
  /// budget was spent before its trials.
  std::vector<bool> untrusted, cut_off;
  std::vector<Verdict> verdicts;  // by criterion; Inconclusive if a control leaves it untrusted
  std::map<TrialKind, unsigned> blocks;
  std::map<TrialKind, uint64_t> trials;  // every attempt counts
  std::map<TrialKind, double> seconds;   // sum over these attempts
};

/// Number of cells that have an interval and a known truth, and of those whose interval covers that truth.
struct Coverage {
  uint64_t covered = 0, cells = 0;
};

/// Everything that one simulated study yields.
struct Drawn {
  std::vector<Ending> endings;     // by scenario
  std::vector<Coverage> coverage;  // by criterion, at the end of the first scenario
  /// The mean half-width of the intervals there, by criterion and assertion; NaN if it has none.
  std::vector<std::vector<double>> reach;
};

/// One plan with everything that its draws share. It refers to plan, model and truths, which must outlive it; draws
/// only read it, so threads may share one.
struct Study {
  /// One kind of trial, with the parts of the model that concern it.
  struct Kind {
    const KindDesign* design = nullptr;
    std::vector<size_t> metrics = {};   // indices into Model::metrics
    std::vector<store::Key> keys = {};  // by the index's number of the place
    double seconds = 0;                 // of one trial; 0: not known
    const std::vector<std::vector<double>>* residuals = nullptr;
    const std::vector<PointEnds>* ends = nullptr;
  };

  const Plan& plan;
  const Model& model;
  /// The true value of each cell's term, by criterion and cell, without noise and timeouts; NaN if the term has
  /// none.
  const std::vector<std::vector<double>>& truths;
  std::vector<Kind> kinds = {};
  /// Whether a factor moves the truth of an assertion, by criterion and assertion; else a distance does.
  std::vector<std::vector<bool>> by_factor = {};
  /// The step in which values can be read, by criterion and cell; 0: none. The truth moves by multiples of it, so
  /// that values tie with the bound as often as measured ones would.
  std::vector<std::vector<double>> steps = {};
  std::vector<size_t> point_of = {};              // by the index's number of the place
  std::vector<std::vector<size_t>> rows_of = {};  // of a process: its points
  bool timeouts = true;                           // false: no trial times out, whatever the model says
};
/// Prepares a study; `truths` as Study::truths.
Study studyOf(const Plan& plan, const Model& model, const std::vector<std::vector<double>>& truths);

/// Draws one study and judges it under every scenario. The same seed gives the same study. Criteria that
/// `whyNotSimulated` refuses stay undecided.
Drawn draw(const Study& study, const std::vector<Scenario>& scenarios, uint64_t seed);

/// Whether something holds of the term, of a part of it, or of a part of a derived metric that it reads.
bool anyPart(const Plan& plan, const plan::Term& term, function_ref<bool(const plan::Term&)> holds);

/// The reason why drawn trials cannot decide the criterion; null if they can.
plan::Why whyNotSimulated(const Plan& plan, const Criterion& criterion);

}  // namespace expc::simulate
