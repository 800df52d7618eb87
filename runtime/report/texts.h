#pragma once

// The texts of a plan and of results for a terminal, each built from sections and rendered as a whole.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"

namespace expc::report {

/// Numbers of points and cells for a plan that is too large to hold them: its head is shown with these.
struct PlanCounts {
  uint64_t points = 0, available = 0;
  /// Available points that are expected to run out of memory: planned, and not started unless asked for.
  uint64_t expected_infeasible = 0;
  /// Cells that will be measured, by comparison and by criterion, and beside these the cells with a point that is
  /// expected to run out of memory.
  std::vector<uint64_t> comparison_cells, criterion_cells, comparison_unfit, criterion_unfit;

  /// Counts the points and cells of a whole plan.
  static PlanCounts of(const Plan& plan);
};

/// Everything that a plan's text shows beside the plan.
struct PlanExtras {
  /// Columns of the terminal; lines stay within it if words allow, and are coloured if `colour`.
  unsigned width = 100;
  bool colour = false;
  /// List all points, not only the first 20.
  bool all_points = false;
  /// Diagnosis of the design by stored results; null if there are none.
  const simulate::Diagnosis* diagnosis = nullptr;
  /// Assumed coefficient of variation of one trial, for the expected resolution without a diagnosis.
  double noise = 0.01;
  /// Rehearsals of the study; null if there were none.
  const rehearsal::Study* rehearsed = nullptr;
  /// Numbers of points and cells of a plan of which only the head is given; null for a whole plan.
  const PlanCounts* counts = nullptr;
  /// The machine that is planned for.
  std::string system = "local";
  /// The results that a run here and now would continue; absent if not known.
  std::optional<Results> counted;
  /// The reason why a run would not start; "" if none is known.
  std::string refused;
};

/// Returns the plan for a reader: factors, points, what rules removed and why, trials, and criteria with their domain
/// and expected resolution.
std::string planText(const Plan& plan, const PlanExtras& extras);

/// Returns the first of a plan's JSON lines ("expc.plan-lines/2"), without a newline: counts, factors, rules, criteria
/// and design. Then follows a line for each point, with its labels and parameters.
std::string planLinesHeader(const Plan& head, const PlanCounts& counts);

/// How results are shown in a terminal.
struct ResultTextOptions {
  unsigned width = 100;
  bool colour = false;
  /// Show everything, not only what decides.
  bool all = false;
  /// Show only the answer and a row for each command; for studies that `expc bench` wrote.
  bool brief = false;
  /// Path of the written page; "" names none.
  std::string html_path;
  /// The folder of the study's results, for the commands to type next.
  std::string folder = "results";
};

/// Returns the result for a reader: the study's tables, a line for each verdict with those cells that do not pass, a
/// line about the trials, what to do next, and the page's path. With `all` every verdict has all its facts and cells,
/// followed by comparisons, profiles, descriptions and what is missing.
std::string resultText(const Findings& findings, const ResultTextOptions& options);

}  // namespace expc::report
