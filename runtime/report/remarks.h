#pragma once

// What is to be said beside verdicts and tables: blocks of sentences, made once and shown by terminal and page.

#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/report/verdict_text.h"
#include "runtime/store/records.h"

namespace expc::report {

/// How far the verdicts can be trusted: controls, adaptive repetition, notes of trials, published values. Parts without
/// anything to say are left out, here and below.
std::vector<Part> trustRemarks(const plan::Plan& plan, const analysis::Judgement& judgement,
                               const store::Results& results);

/// What is not there: trials that did not end well (those that say the same in one line), points that lack some, and
/// what is stored and does not count.
std::vector<Part> missingRemarks(const plan::Plan& plan, const analysis::Judgement& judgement,
                                 const store::Results& results);

/// What was asked for and has no value; a reason that the one before has is not said again.
std::vector<Block> missingLines(const std::vector<MissingThing>& missing);

/// In one line what became of the trials, what disturbed them, and what is lacking: "50 of 52 trials are valid; 2
/// failed: timed precision=bf16 gpus=1: rank 1 died; 12 note that other processes took over 10 % of their cores".
std::string trialsText(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results);

}  // namespace expc::report
