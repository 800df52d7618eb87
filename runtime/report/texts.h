#pragma once

// What a terminal shows of a plan, and of its results.

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

/// How much there is of what a plan's head leaves out, where a plan has too many points to hold.
struct PlanCounts {
  uint64_t points = 0, available = 0;
  uint64_t expected_infeasible = 0;  // of those available: planned, not started unless asked for
  /// By comparison and criterion: cells that will be measured, and beside these those that read a point which is
  /// expected to run out of memory.
  std::vector<uint64_t> comparison_cells, criterion_cells, comparison_unfit, criterion_unfit;

  /// Of a whole plan.
  static PlanCounts of(const plan::Plan& plan);
};

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

struct PublishedTime {
  double seconds = 0, device_seconds = 0;  // of all trials of a plan that are known, one after the other
  size_t known = 0, of = 0;                // kinds of trial, over the points that start
};

/// How long the trials take if they take what references publish of their points: the time of an epoch, of a step or of
/// an image. Nothing where none is published.
std::optional<PublishedTime> publishedTime(const plan::Plan& plan);

/// The plan for a reader: factors, points, what rules removed and why, trials, criteria with their domain and
/// resolution.
std::string planText(const plan::Plan& plan, const PlanExtras& extras);

/// The first of the JSON lines of a plan ("expc.plan-lines/2"): counts, factors, rules, criteria, design; no newline. A
/// line for each point follows, with its labels and parameters.
std::string planLinesHeader(const plan::Plan& head, const PlanCounts& counts);

struct ResultTextOptions {
  unsigned width = 100;
  bool colour = false;
  bool all = false;                // everything that there is to say, not only what decides
  std::string html_path;           // of the written page; "": none is named
  std::string folder = "results";  // that the study's results are in
};

/// The result for a reader: the tables that the study asks for, a line for each verdict with the cells of those that do
/// not pass, one for the trials, what to do next, and the page's path. With `all` every verdict has all its lines and
/// cells, and comparisons, profiles, descriptions and what is missing follow.
std::string resultText(const analysis::Findings& findings, const ResultTextOptions& options);

}  // namespace expc::report
