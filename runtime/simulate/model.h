#pragma once

// The model that simulated trials are drawn from: a centre of each metric at each point, and the noise around it. Both
// come from stored trials or from stated numbers; drawing is left to study.h.

#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/simulate/resolution.h"
#include "runtime/stats/distributions.h"
#include "runtime/store/records.h"

namespace expc::simulate {

/// A value that a trial or a truth lacks.
inline constexpr double kNone = NAN;

/// Source of a metric's noise: kAssumedNoise for lack of anything better, a number that the user stated, or stored
/// trials.
enum class Origin { Assumed, Stated, Measured };

/// The model of one measured metric. Its noise is multiplicative (a share of the value), unless some value was not
/// above zero.
struct MetricModel {
  std::string name;
  TrialKind kind = TrialKind::Timed;
  std::vector<double> centres;  // by point of the plan; 1 if nothing is known
  std::vector<bool> known;      // by point: whether trials of it were seen
  bool multiplies = true;
  double noise = 0;   // standard deviation between trials of one block: of the logarithm, or in the metric's unit
  double drift = 0;   // standard deviation between blocks, which pairs do not see
  double apart = 0;   // between sessions, of each point on its own: restarting moves pairs too
  double shared = 0;  // between sessions, of all points alike: pairs do not see it
  Resolution resolution = {};  // the grid that drawn values are rounded to
  Origin origin = Origin::Assumed;
  unsigned trials = 0;  // number of trials that a measured noise comes from
};

/// How often trials of a point end without a value, each on its own: as often as stored trials did.
struct PointEnds {
  double infeasible = 0;  // share of all trials that ran out of memory
  double timeouts = 0;    // share of the other trials
  double limit = 0;       // seconds: how long trials that timed out took, on average
};

/// Everything that a simulated study is drawn from. Filled by modelOf; tests fill it by hand.
struct Model {
  std::vector<MetricModel> metrics;
  /// Residuals by kind: the remainders of stored trials after the effects of points and blocks, in standard
  /// deviations. A row is one trial, with a value for each metric of the kind. A draw takes a whole row, so noise
  /// keeps its shape and metrics of one trial move together. Empty: normal noise, independent for each metric.
  std::map<TrialKind, std::vector<std::vector<double>>> residuals;
  /// Replaces residuals and normal noise, for tests: the noise of one trial of a point, with a standard deviation
  /// near 1.
  std::function<double(stats::NormalStream&, size_t point)> shape = nullptr;
  /// The share of a trial's noise that comes from the trial before it (autocorrelation), for tests; stored trials
  /// do not give it.
  double carried = 0;
  unsigned sessions = 1;           // of a simulated study
  unsigned stored_sessions = 0;    // number of sessions that stored trials come from
  unsigned blocks_of_session = 0;  // blocks until the next session; the last one has all that follow. 0: one session
  /// Estimates by criterion and cell: the values that a report would give for stored trials that did not time out;
  /// empty if it gives none.
  std::vector<std::vector<std::optional<double>>> estimates;
  double lost = 0, disturbed = 0;  // chance that a trial fails; that another is invalid. Both are retried
  std::map<TrialKind, std::vector<PointEnds>> ends;  // by point
  std::map<TrialKind, double> seconds;               // that a trial takes; no entry for a kind that never ran
};

/// Numbers that the user states, in place of stored trials.
struct Assumptions {
  std::map<std::string, double> noise;  // by metric; "" stands for all that are not exact
  std::optional<double> lost;
  std::optional<unsigned> sessions;  // of a simulated study; absent: as many as stored trials have
};

/// The coefficient of variation (standard deviation over mean) that is assumed of a metric of which nothing is
/// known.
inline constexpr double kAssumedNoise = 0.01;

/// The model of a plan's trials. Noise is measured if trials leave at least 4 degrees of freedom after an additive
/// fit of points and blocks (of the point alone, if there is one). Variation between sessions is measured if trials
/// come from several sessions.
Model modelOf(const Plan& plan, const Results& stored, const Assumptions& assumptions);

/// The plan reduced to as few blocks as its noise can be measured with, and without criteria. Its results are used
/// for noise only, so it is not a look at a verdict.
Plan pilotOf(Plan plan);

/// The noise of one trial of the first metric that a criterion reads, as a share of its value. Absent if the noise
/// is not a share, or the criterion has no cells.
std::optional<double> noiseOf(const Model& model, const Criterion& criterion);

/// "step_time 0.8 % measured (56 trials), accuracy 1 % assumed".
std::string noiseText(const Model& model);

}  // namespace expc::simulate
