#pragma once

// The texts of a plan and of results for a terminal, each built from sections and rendered as a whole.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"

namespace expc::report {

/// Numbers of points and cells for a plan that is too large to hold them: its head is shown with these.
struct PlanCounts {
  uint64_t points = 0, available = 0;
  uint64_t expected_infeasible = 0;  // of those available: planned, not started unless asked for
  /// Cells that will be measured, by comparison and by criterion, and beside these the cells with a point that is
  /// expected to run out of memory.
  std::vector<uint64_t> comparison_cells, criterion_cells, comparison_unfit, criterion_unfit;

  /// Counts the points and cells of a whole plan.
  static PlanCounts of(const plan::Plan& plan);
};

/// Everything that a plan's text shows beside the plan.
struct PlanExtras {
  unsigned width = 100;                            // columns of the terminal; lines stay within it where words allow
  bool colour = false;                             // ANSI
  bool all_points = false;                         // else the first 20 are shown, and how many more
  const simulate::Diagnosis* diagnosis = nullptr;  // of what is stored; null: nothing is
  double noise = 0.01;                             // coefficient of variation of one run, for the expected resolution
  const rehearsal::Study* rehearsed = nullptr;     // what rehearsals of the study saw; null: there were none
  const PlanCounts* counts = nullptr;              // of a plan's head: its points and cells are counted, not listed
  std::string system = "local";                    // the machine that is planned for
  std::optional<store::Results> counted;           // what a run here and now would go on from; absent: not known
  std::string refused;                             // why a run would not start; "": nothing is known against it
};

/// Times for a plan's trials from published values.
struct PublishedTime {
  double seconds = 0, device_seconds = 0;  // of all trials of a plan that are known, one after the other
  size_t known = 0, of = 0;                // kinds of trial, over the points that start
};

/// Returns how long the trials take if they are as fast as references publish for their points: by the time of an
/// epoch, a step or an image. Nothing if no such time is published.
std::optional<PublishedTime> publishedTime(const plan::Plan& plan);

/// Returns the plan for a reader: factors, points, what rules removed and why, trials, and criteria with their domain
/// and expected resolution.
std::string planText(const plan::Plan& plan, const PlanExtras& extras);

/// Returns the first of a plan's JSON lines ("expc.plan-lines/2"), without a newline: counts, factors, rules, criteria
/// and design. Then follows a line for each point, with its labels and parameters.
std::string planLinesHeader(const plan::Plan& head, const PlanCounts& counts);

/// How results are shown in a terminal.
struct ResultTextOptions {
  unsigned width = 100;
  bool colour = false;
  bool all = false;                // everything that there is to say, not only what decides
  std::string html_path;           // of the written page; "": none is named
  std::string folder = "results";  // that the study's results are in
};

/// Returns the result for a reader: the study's tables, a line for each verdict with those cells that do not pass, a
/// line about the trials, what to do next, and the page's path. With `all` every verdict has all its facts and cells,
/// followed by comparisons, profiles, descriptions and what is missing.
std::string resultText(const analysis::Findings& findings, const ResultTextOptions& options);

}  // namespace expc::report
