#pragma once

// The output of `expc compare` about sides, each a set of results of one study: put together once, for a terminal, for
// a pull request and for programs.

#include <llvm/Support/JSON.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/course.h"
#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/store/records.h"

namespace expc::exports {

/// A part of what is said, and the same for programs, which find it under the part's title.
struct Section {
  report::Part part;
  llvm::json::Array json = {};

  void say(report::Paragraph sentence) { part.blocks.emplace_back(std::move(sentence)); }
};

struct Document {
  /// A document about sides of one study; `outcome` is that of the whole.
  Document(const plan::Plan& plan, const std::vector<std::string>& sides, analysis::Verdict outcome);

  std::string title;  // to be finished
  analysis::Verdict outcome;
  int exit_code;
  std::vector<Section> sections = {};
  llvm::json::Object json;  // what stands beside the members of the sections
};

/// What there is of it to read.
std::vector<report::Part> partsOf(const Document& document);
std::string text(const Document& document, unsigned width, bool colour);
std::string markdown(const Document& document);
llvm::json::Value json(Document document);

struct Side {
  std::string name;  // as it was asked for
  store::Results results;
  analysis::Judgement judgement;
};

/// Compares two sides. Broken: something fails after. Fail: a metric got worse by more than `margin` (0.02 is 2 %), or
/// a verdict that held is lost and something moved. Inconclusive: something cannot be compared or told, or a verdict
/// that held does not any more and nothing moved. Else a pass.
Document moves(const plan::Plan& plan, std::span<const Side> sides, double margin);

/// Follows the first side's conclusions to the others. Broken: something failed in every trial elsewhere. Fail: some
/// conclusion is contradicted. Inconclusive: some is open, or something has no value elsewhere. Not run: there is none.
Document conclusions(const plan::Plan& plan, std::span<const Side> sides);

/// Describes metrics over the sessions of these sides. Without `all`, only metrics that changed or drifted, or whose
/// newest session is outlying, has no value, or has timeouts. Broken: some metric has no value there since trials
/// failed. Inconclusive: some has none since all trials were disturbed, or its newest session is outlying for worse.
/// Else nothing is asked.
Document bySession(const plan::Plan& plan, const std::vector<std::string>& sides,
                   const std::vector<analysis::Course>& courses, bool all);

}  // namespace expc::exports
