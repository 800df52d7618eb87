#pragma once

// `expc compare`: documents about sides, each a set of results of one study. A document is put together once and
// rendered three times: for a terminal, for a pull request and for programs. Three kinds exist: what moved between two
// sides, what became of conclusions on other sides, and how metrics developed over sessions. Statistics come from
// runtime/describe; this room words them and decides the exit code.

#include <llvm/Support/JSON.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/describe/course.h"
#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/document.h"
#include "runtime/store/records.h"

namespace expc::exports {

/// A part of a document for people, and the same content as JSON, which stands under the part's title.
struct Section {
  report::Part part;
  json::Array json = {};

  /// Adds a sentence for people.
  void say(report::Paragraph sentence) { part.blocks.emplace_back(std::move(sentence)); }
};

/// The comparison of one study.
struct Document {
  /// Makes an empty document about sides of one study. `outcome` is that of the whole and gives the exit code.
  Document(const Plan& plan, const std::vector<std::string>& sides, Verdict outcome);

  /// The heading, which begins with the study's name; the maker of the document appends what was compared.
  std::string title;
  Verdict outcome;
  int exit_code;
  std::vector<Section> sections = {};
  /// Members of the JSON beside those of the sections: schema, study, sides, outcome.
  json::Object json;
};

/// Returns the parts that have something to read.
std::vector<report::Part> partsOf(const Document& document);
/// Render a document for a terminal, for a pull request, and as "expc.compare/2".
std::string text(const Document& document, unsigned width, bool colour);
std::string markdown(const Document& document);
json::Value json(Document document);

/// A set of results of the study, judged.
struct Side {
  /// The name by which the user asked for it.
  std::string name;
  Results results;
  Conclusions judgement;
};

/// Compares two sides. The outcome is the first that applies:
///   - broken: something fails after that did not before;
///   - fail: a metric got worse by more than `margin` (0.02 is 2 %), or a verdict that held is lost and something
///   moved;
///   - inconclusive: something cannot be compared or told, or a verdict that held is lost and nothing moved;
///   - pass.
Document moves(const Plan& plan, std::span<const Side> sides, double margin);

/// Follows the first side's conclusions to the others. The outcome is broken if something failed in every trial
/// elsewhere, fail if some conclusion is contradicted, inconclusive if some is open or something has no value
/// elsewhere, and not run if there is no conclusion.
Document conclusions(const Plan& plan, std::span<const Side> sides);

/// Describes metrics over the sessions of the sides. Without `all`, only metrics that changed or drifted, or whose
/// newest session is outlying, has no value, or has timeouts. The outcome is broken if a metric has no value in the
/// newest session since trials failed, inconclusive if all its trials were disturbed or the session is outlying for
/// worse, and otherwise not asked.
Document bySession(const Plan& plan, const std::vector<std::string>& sides,
                   const std::vector<describe::Course>& courses, bool all);

}  // namespace expc::exports
