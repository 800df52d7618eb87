#pragma once

// Says what a design can be expected to find before it is run: simulates its study many times. Plan and noise model
// come in, shares of verdicts go out; the drawing is left to study.h and the noise to model.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/parallel.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"
#include "runtime/simulate/model.h"

namespace expc::simulate {

/// Shares of simulated studies by verdict. A study that a control leaves untrusted, or that nothing decides, is
/// open.
struct Chances {
  double pass = 0, fail = 0, open = 0;
};

/// All cells of a criterion at the same distance from their bounds.
struct Sweep {
  double distance = 0;          // of the truth from the bound, in half-widths of the interval; above 0 the bound holds
  std::optional<double> value;  // the truth at that distance; absent if cells have bounds of their own
  Chances chances;
};

/// Expected behaviour of one criterion.
struct CriterionDiagnosis {
  std::string name;
  double timeouts = 0;          // the highest share of trials that time out, over the points that it reads
  bool valued = false;          // at least one simulated study has a value of it
  plan::Why skipped = nullptr;  // the reason why it was not simulated, or null
  /// Source of the true values of its cells, for trials that do not time out: "measured", "stated" or "published";
  /// "" if not all are known.
  std::string known;
  double least = 0, most = 0;         // the range of these true values
  std::optional<Chances> chances;     // if these values are true; for a criterion without a value, whatever is true
  double untrusted = 0, cut_off = 0;  // shares of studies, there, that a control or the budget keeps open
  std::optional<double> coverage;     // share of intervals that cover the truth; absent if trials time out
  std::vector<Sweep> sweeps;          // by distance; empty if nothing varies
  /// True values from which on the criterion passes, or fails, in kPower of the studies, and their distances from
  /// the bound. Absent if that lies outside the sweep, if the metric cannot have such a value, or if cells have
  /// bounds of their own (then only distances are given).
  std::optional<double> passes_from, fails_from, passes_at, fails_at;
  double reach = 0;  // mean half-width of its intervals without timeouts, as a share or in its unit
  /// The reach of each of several assertions; `reach` is then that of the first that varies.
  std::vector<double> reaches = {};
  std::optional<judge::NextStep> next = {};  // of the stored blocks (forecast.h)
};

/// The chance with which a design should decide (80 %, the usual power of a study).
inline constexpr double kPower = 0.8;

/// Expected behaviour of one design.
struct DesignDiagnosis {
  std::map<TrialKind, unsigned> most;          // repetitions that the design allows
  std::vector<CriterionDiagnosis> criteria;    // all of the plan, in its order
  std::map<TrialKind, double> blocks, trials;  // means, at the known truths; attempts are trials
  std::optional<double> seconds;               // of these trials in a row; absent: not known
};

/// The answer of `expc diagnose`.
struct Diagnosis {
  unsigned studies = 0;
  uint64_t seed = 0;
  Model model;
  DesignDiagnosis design;
  std::optional<DesignDiagnosis> larger;  // the same with half as many repetitions again
};

/// The name by which the truth of a cell is stated: its criterion's, or of several assertions "useful.gain".
std::string effectName(const Criterion& criterion, const plan::Cell& cell);

/// Options of diagnose().
struct DiagnosisOptions {
  unsigned studies = 1000;
  uint64_t seed = 1;
  std::map<std::string, double> effects;  // effectName -> stated truth of each such cell
  bool larger = true;                     // look at the next larger design, too
  base::Tick tick = nullptr;              // called while studies are drawn; its result does not end them
};

/// The work of one simulated study, to choose a number of studies: its trials, and its cells at every distance,
/// once for each repetition. A core does about half a million of these a second.
uint64_t workOf(const Plan& plan);

/// Simulates the plan's design. The numbers are the same for the same plan, model and options, on any machine. A share
/// p of n studies has a standard error of sqrt(p (1 - p) / n): 0.7 % at 5 % of 1,000.
Diagnosis diagnose(const Plan& plan, Model model, const DiagnosisOptions& options);

}  // namespace expc::simulate
