#pragma once

// Says what a design can be expected to find before it is run: simulates its study many times. Plan and noise model
// come in, shares of verdicts go out; the drawing is left to study.h and the noise to model.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/parallel.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"
#include "runtime/simulate/model.h"

namespace expc::simulate {

/// Shares of simulated studies. What a control leaves untrusted, or nothing decides, is open.
struct Chances {
  double pass = 0, fail = 0, open = 0;
};

/// All cells of a criterion at the same distance from their bounds.
struct Sweep {
  double distance = 0;          // of the truth from the bound, in reaches of the interval; above 0 the bound holds
  std::optional<double> value;  // that is true there; absent where cells have bounds of their own
  Chances chances;
};

struct CriterionDiagnosis {
  std::string name;
  double timeouts = 0;          // the highest share of trials that time out among the points that it reads
  bool valued = false;          // some simulated study has a value of it
  plan::Why skipped = nullptr;  // why it was not simulated
  /// Source of the known truths of its cells, for trials that do not time out: "measured", "stated" or "published"; ""
  /// if not all are known.
  std::string known;
  double least = 0, most = 0;         // of these truths
  std::optional<Chances> chances;     // if they are true; without a value, whatever is true
  double untrusted = 0, cut_off = 0;  // shares of studies that a control, or the budget, keeps open there
  std::optional<double> coverage;     // share of intervals that cover what is true; absent where trials time out
  std::vector<Sweep> sweeps;          // by distance; empty where nothing varies
  /// True values from which on it passes, and fails, in kPower of the studies; absent: not within the sweep, no value
  /// that a metric can have, or cells have bounds of their own. As distances in `passes_at` and `fails_at`.
  std::optional<double> passes_from, fails_from, passes_at, fails_at;
  double reach = 0;  // of its intervals where no trial times out: half their width, as a share or in its unit
};

/// How often a design is to decide.
inline constexpr double kPower = 0.8;

struct DesignDiagnosis {
  std::map<plan::TrialKind, unsigned> most;          // repetitions that the design has at most
  std::vector<CriterionDiagnosis> criteria;          // all of the plan, in its order
  std::map<plan::TrialKind, double> blocks, trials;  // means, if what is known is true; of trials every attempt
  std::optional<double> seconds;                     // that these take one after the other; absent: not known
};

struct Diagnosis {
  unsigned studies = 0;
  uint64_t seed = 0;
  Model model;
  DesignDiagnosis design;
  std::optional<DesignDiagnosis> larger;  // half as many repetitions again
};

struct DiagnosisOptions {
  unsigned studies = 1000;
  uint64_t seed = 1;
  std::map<std::string, double> effects;  // criterion -> what is true of each of its cells
  bool larger = true;                     // look at the next larger design, too
  base::Tick tick = nullptr;              // called as studies are drawn; what it returns is not an end
};

/// The work of one simulated study: its trials, and its cells at every distance, each at every repetition. A core does
/// about half a million of these a second.
uint64_t workOf(const plan::Plan& plan);

/// Simulates the plan's design. The numbers are the same for the same plan, model and options, on any machine. A share
/// p of n studies has a standard error of sqrt(p (1 - p) / n): 0.7 % at 5 % of 1,000.
Diagnosis diagnose(const plan::Plan& plan, Model model, const DiagnosisOptions& options);

}  // namespace expc::simulate
