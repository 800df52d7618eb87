#pragma once

// The model that simulated trials are drawn from: a centre of each metric at each point, and the noise around it. Both
// come from stored trials or from stated numbers; drawing is left to study.h.

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/simulate/resolution.h"
#include "runtime/stats/distributions.h"
#include "runtime/store/records.h"

namespace expc::simulate {

/// A value that is not there.
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Where the noise of a metric comes from.
enum class Origin { Assumed, Stated, Measured };

/// One measured metric. Its noise multiplies it, so that it is a share of the value, unless some value was not above
/// zero.
struct MetricModel {
  std::string name;
  plan::TrialKind kind = plan::TrialKind::Timed;
  std::vector<double> centres;  // by point of the plan; 1 where nothing is known
  std::vector<bool> known;      // by point: whether trials of it were seen
  bool multiplies = true;
  double noise = 0;   // standard deviation between trials of one block: of the logarithm, or in the metric's unit
  double drift = 0;   // the same between blocks, which pairs do not see
  double apart = 0;   // the same between sessions, of each point on its own
  double shared = 0;  // the same between sessions, of all points alike, which pairs do not see
  Resolution resolution = {};  // of its values
  Origin origin = Origin::Assumed;
  unsigned trials = 0;  // that a measured noise comes from
};

/// How often trials of a point end without a value, one by one: as often as stored ones did.
struct PointEnds {
  double infeasible = 0;  // of all: out of memory
  double timeouts = 0;    // of the others
  double limit = 0;       // seconds: what the timeouts took, on average
};

struct Model {
  std::vector<MetricModel> metrics;
  /// Residuals of each kind: what stored trials leave once the effects of points and blocks are taken away, in standard
  /// deviations. A row holds one trial, with a value for each metric of the kind. A draw takes a whole row, so that the
  /// noise keeps its shape and metrics of one trial move together. Empty: normal noise, independent for each metric.
  std::map<plan::TrialKind, std::vector<std::vector<double>>> residuals;
  /// In place of both: noise of one trial of a point, with a standard deviation near 1.
  std::function<double(stats::NormalStream&, size_t point)> shape = nullptr;
  /// The share of a trial's noise that comes from the trial before it. Stored trials do not give it; the self-test asks
  /// about it.
  double carried = 0;
  unsigned sessions = 1;           // of a study
  unsigned stored_sessions = 0;    // that stored trials are of
  unsigned blocks_of_session = 0;  // the last session goes on; 0: one session
  /// Estimates by criterion and cell: the value that a report would give for stored trials that did not time out; empty
  /// where they give none.
  std::vector<std::vector<std::optional<double>>> estimates;
  double lost = 0, disturbed = 0;  // chance that a trial fails; of others, is invalid; tried again as in a run
  std::map<plan::TrialKind, std::vector<PointEnds>> ends;  // by point
  std::map<plan::TrialKind, double> seconds;               // that a trial takes; none of a kind that never ran
};

/// Stated numbers in place of stored trials.
struct Assumptions {
  std::map<std::string, double> noise;  // by metric; "" for all that are not exact
  std::optional<double> lost;
  std::optional<unsigned> sessions;  // that a study is measured in; absent: as many as stored trials are of
};

/// The coefficient of variation of a metric of which nothing is known.
inline constexpr double kAssumedNoise = 0.01;

/// The model of a plan's trials. Noise is measured where trials leave at least 4 degrees of freedom after an additive
/// fit of points and blocks, or of the point where there is one; how far sessions lie apart where they are of several.
Model modelOf(const plan::Plan& plan, const store::Results& stored, const Assumptions& assumptions);

/// The plan with as few blocks as its noise can be measured with, and without criteria: what it measures is looked at
/// for its noise alone, so it is no look at a verdict.
plan::Plan pilotOf(plan::Plan plan);

/// The noise of one trial of the metric that a criterion reads first, as a share of its value; nothing where it is
/// none.
std::optional<double> noiseOf(const Model& model, const plan::Criterion& criterion);

/// "step_time 0.8 % measured (56 trials), accuracy 1 % assumed".
std::string noiseText(const Model& model);

}  // namespace expc::simulate
