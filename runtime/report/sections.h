#pragma once

// The sections of a report as blocks, each built once for every medium that shows it. To add one:
// docs/how-to-add-a-block.md. Functions return parts without blocks, or no blocks, if there is nothing to say.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/describe/attribution.h"
#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/report/document.h"
#include "runtime/report/grid.h"
#include "runtime/report/verdict_text.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"

namespace expc::report {

/// Returns the cells of a criterion, each with its verdict and its interval drawn against the bound; with `open` only
/// those that do not pass. A reason that the result states for all cells is not repeated for each.
Table criterionCells(const Judged& of, bool open = false);
/// Returns a part for each comparison: its definition and cells.
std::vector<Block> comparisonParts(const Plan& plan, const Judgement& judgement);

/// Returns a grid as a table, without further remarks.
Table gridTable(const Grid& grid, const std::string& label);
/// Returns the table of a grid with the definition of its subject and a remark about what its numbers are.
Part gridPart(const Plan& plan, const Grid& grid, const std::string& title);
/// Returns what the `table` lines of the study ask for: values, or a description such as a ranking. Metrics that have
/// the same rows, one column each, share a table.
std::vector<Block> tableBlocks(const Plan& plan, const Conclusions& judgement, const std::vector<plan::Table>& tables);
/// Returns every metric with a row for each point; texts show only metrics that none of `tables` shows.
Table pointTable(const Plan& plan, const Judgement& judgement, const std::vector<plan::Table>& tables);

/// Returns remarks on how far verdicts can be trusted: controls, adaptive repetition, notes of trials, published
/// values. Parts without anything to say are left out, here and below.
std::vector<Part> trustRemarks(const Findings& findings);

/// Returns what is missing: trials that did not end well (alike ones in one line), points that lack trials, and what is
/// stored and does not count.
std::vector<Part> missingRemarks(const Findings& findings);

/// Returns missing and doubtful results, a line for each point: repetitions that are not tried again by themselves,
/// timeouts that do not count, and points that ran out of memory in some blocks only.
std::vector<std::string> shortcomings(const Plan& plan, const Judgement& judgement);

/// Returns a line for each result that was asked for and has no value; the reason of the line before is not repeated.
std::vector<Block> missingLines(const std::vector<MissingThing>& missing);

/// Returns one line on what became of the trials, what disturbed them and what is lacking: "50 of 52 trials are valid;
/// 2 failed: timed precision=bf16 gpus=1: rank 1 died; 12 note that other processes took over 10 % of their cores".
std::string trialsText(const Findings& findings);

/// The factors with their levels, and the trials of each kind at `points` points, with the rules of the design.
Table factorTable(const Plan& plan);
Part trialsPart(const Plan& plan, uint64_t points);
/// Returns the size of the plan: "5 of 6 in the product; 1 removed by rules".
std::string pointsText(const Plan& plan, uint64_t points);
/// Returns what rules removed and why, with examples, and which points are not started, or only on request.
std::vector<Block> leftOutBlocks(const Plan& plan);

/// How much of an attribution is shown.
enum class Detail { Summary, Everything };
/// Returns the attribution of one pair: what its step takes, warnings, and a table for each view.
Part attributionPart(const Plan& plan, const describe::Attribution& attribution, Detail detail);
/// Returns the attributions of all pairs; `without` says why there are none.
Part attributionParts(const Plan& plan, const std::vector<describe::Attribution>& all, const std::string& without);

/// The headings for the two levels of an attribution: "fp32" and "fp64", "gpus=2" and "gpus=1" if they differ in one
/// factor, else kThisLevel and "baseline".
inline constexpr char kThisLevel[] = "this level";
std::pair<std::string, std::string> levelNames(const Plan& plan, const describe::Attribution& attribution);

/// Returns the title of a view: "phases of the step".
std::string_view titleOf(const describe::AttributionView& view);
/// Returns whose time the categories hold besides that of the step's own thread; "" if there is none.
std::string noteOf(const describe::AttributionView& view);

/// Returns how a study gets profile trials of its workloads, or that commands have none.
std::string profileAdvice(const Plan& plan);

/// Returns why there is no attribution, if a reader would want one: profile trials that give none, or a failing
/// comparison without profile trials. Else "".
std::string withoutAttribution(const Findings& findings);

/// Returns the rehearsals of the plan's points, in its order; points that the plan no longer has are left out.
rehearsal::Study rehearsalOf(const Plan& plan, const rehearsal::Study& study);
/// How rehearsals are shown.
struct RehearsalOptions {
  size_t most_points = SIZE_MAX;  // in a terminal's table; of the others there is a line
  bool steps = true;              // also what a step does
  std::string logs = "";          // folder of what ranks printed, named where a point failed; "": not named
};
/// Returns what rehearsals of the plan's points saw: a row for each point, with `steps` what a step does, each reason
/// once, and how far estimates of the peak were off.
Part rehearsalPart(const Plan& plan, const rehearsal::Study& study, const RehearsalOptions& options);

/// Returns what a design can be expected to find.
std::vector<Block> diagnosisBlocks(const Plan& plan, const simulate::Diagnosis& diagnosis);

/// Returns a criterion's chances: "as measured (1.45x to 1.52x): passes 97 %, fails 0 %, open 3 % of 1000 simulated
/// studies"; "" if nothing is known of it.
std::string chancesText(const Plan& plan, const Criterion& criterion, const simulate::CriterionDiagnosis& one,
                        unsigned studies);

}  // namespace expc::report
