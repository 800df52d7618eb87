#pragma once

// What a report is made of, each part built once for everyone who shows it. To add one: docs/how-to-add-a-block.md.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/report/document.h"
#include "runtime/report/grid.h"
#include "runtime/report/verdict_text.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/store/records.h"

namespace expc::report {

/// The cells of a criterion, each with its verdict and its interval drawn against the bound; `open`: those alone that
/// do not pass. What the result says of all is not said of each.
Table criterionCells(const Judged& of, bool open = false);
/// Each comparison with its definition and cells.
std::vector<Block> comparisonParts(const plan::Plan& plan, const analysis::Judgement& judgement);

/// What a `table` of the study asks for.
Table gridTable(const Grid& grid, const std::string& label);
/// The same with what its numbers are.
Part gridPart(const plan::Plan& plan, const Grid& grid, const std::string& title);
/// Either, or the description that it asks for.
Block tableBlock(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Table& table);
/// Every metric, a row for each point; a text has the medians of those that none of `tables` shows.
Table pointTable(const plan::Plan& plan, const analysis::Judgement& judgement, const std::vector<plan::Table>& tables);

/// How far the verdicts can be trusted: controls, adaptive repetition, notes of trials, published values. Parts without
/// anything to say are left out, here and below.
std::vector<Part> trustRemarks(const analysis::Findings& findings);

/// What is not there: trials that did not end well (those that say the same in one line), points that lack some, and
/// what is stored and does not count.
std::vector<Part> missingRemarks(const analysis::Findings& findings);

/// Missing and doubtful results, a line for each point: repetitions that are not tried again by themselves, timeouts
/// that count for nothing, and points that ran out of memory in some blocks only.
std::vector<std::string> shortcomings(const plan::Plan& plan, const analysis::Judgement& judgement);

/// What was asked for and has no value; a reason that the one before has is not said again.
std::vector<Block> missingLines(const std::vector<MissingThing>& missing);

/// In one line what became of the trials, what disturbed them, and what is lacking: "50 of 52 trials are valid; 2
/// failed: timed precision=bf16 gpus=1: rank 1 died; 12 note that other processes took over 10 % of their cores".
std::string trialsText(const analysis::Findings& findings);

/// What is planned: the factors with their levels, and the trials of each kind at so many points, with how they go.
Table factorTable(const plan::Plan& plan);
Part trialsPart(const plan::Plan& plan, uint64_t points);
/// "5 of 6 in the product; 1 removed by rules".
std::string pointsText(const plan::Plan& plan, uint64_t points);
/// What rules removed and why, with examples, and what is not started, or not unless it is asked for.
std::vector<Block> leftOutBlocks(const plan::Plan& plan);

/// How much of an attribution is told.
enum class Detail { Summary, Everything };
/// The pair, what its step takes, what a reader must be warned of, and a table for each view.
Part attributionPart(const plan::Plan& plan, const analysis::Attribution& attribution, Detail detail);
/// Those of all pairs; `without`: why there is none. No block where there is nothing to say.
Part attributionParts(const plan::Plan& plan, const std::vector<analysis::Attribution>& all,
                      const std::string& without);

/// What heads the columns of the two levels: "fp32" and "fp64", "gpus=2" and "gpus=1", where they differ in one factor,
/// else kThisLevel and "baseline".
inline constexpr char kThisLevel[] = "this level";
std::pair<std::string, std::string> levelNames(const plan::Plan& plan, const analysis::Attribution& attribution);

/// "phases of the step".
std::string_view titleOf(const analysis::AttributionView& view);
/// "" or whose time the categories hold besides that of the step's own thread.
std::string noteOf(const analysis::AttributionView& view);

/// How a study gets profile trials of its workloads, or that those of commands have none.
std::string profileAdvice(const plan::Plan& plan);

/// Why there is no attribution, where a reader would want one: profile trials that give none, or a comparison that
/// fails and has no profile trials. Else "".
std::string withoutAttribution(const analysis::Findings& findings);

/// What is known of a plan's points, in its order, without the rest.
rehearsal::Study rehearsalOf(const plan::Plan& plan, const rehearsal::Study& study);
/// What is known of the plan's points from rehearsals: a row for each, what a step does with `steps`, reasons once
/// each, and how peaks and estimates compare. No block where nothing is.
struct RehearsalOptions {
  size_t most_points = SIZE_MAX;  // in a terminal's table; of the others there is a line
  bool steps = true;              // also what a step does
  std::string logs = "";          // folder of what ranks printed, named where a point failed; "": not named
};
Part rehearsalPart(const plan::Plan& plan, const rehearsal::Study& study, const RehearsalOptions& options);

/// What the design can be expected to find, for a reader.
std::vector<Block> diagnosisBlocks(const plan::Plan& plan, const simulate::Diagnosis& diagnosis);

/// "passes in 97 %, fails in 0 % and stays open in 3 % of 1000 simulated studies if it is as measured (1.45x
/// to 1.52x)"; "" where nothing is known of it.
std::string chancesText(const plan::Plan& plan, const plan::Criterion& criterion,
                        const simulate::CriterionDiagnosis& one, unsigned studies);

}  // namespace expc::report
