#pragma once

// The sections of the page, one function each. html.cpp puts them together.

#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/chart.h"
#include "runtime/report/description_text.h"
#include "runtime/report/forest.h"
#include "runtime/report/grid.h"
#include "runtime/report/html.h"
#include "runtime/store/records.h"

namespace expc::report {

/// What sections read, and the charts they leave for the script, in the order of the page.
struct Page {
  const plan::Plan& plan;
  const analysis::Judgement& judgement;
  const store::Results& results;
  const HtmlOptions& options;
  std::vector<NamedChart> charts = {};

  /// A place for a chart on the page; the script draws it. `name`: what it is a chart of.
  std::string place(llvm::json::Object specification, const std::string& name);
  /// Places for the charts of one thing, each with its caption.
  std::string figures(std::vector<Chart> all, const std::string& name);
};

/// A block of sentences behind its title, closed.
std::string folded(const Described& block);
/// Anything behind a title, closed; `title` is text.
std::string folded(const std::string& title, const std::string& body);

std::string headSection(const Page& page);
std::string verdictSection(const Page& page);
std::string tableSection(Page& page);
std::string comparisonSection(const Page& page);
/// What makes the difference between two levels, by their profile trials.
std::string attributionSection(Page& page);
/// Effects of factors, rankings, fronts, drift and outliers; "" where there is nothing to say.
std::string descriptionSection(const Page& page);
std::string measurementSection(const Page& page);
/// What rehearsals of the study saw, apart from what was measured.
std::string rehearsalSection(const Page& page);
std::string pointSection(const Page& page);
std::string designSection(const Page& page);
std::string trialSection(const Page& page);
std::string environmentSection(const Page& page);
std::string repeatSection(const Page& page);

/// Whether a table of cells has a column of verdicts; where one part of the claim is enough and there is one, those
/// that fail are not alarming.
enum class CellVerdicts { None, Each, OneWasEnough };

/// Cells of a comparison or criterion as a table with a forest column. `label` names the table for who does not see it;
/// what `above` says of it is not said in it again.
std::string cellTable(const Page& page, const std::vector<std::string>& factors, const std::vector<plan::Cell>& planned,
                      const std::vector<analysis::CellEstimate>& estimates, const std::string& unit,
                      const std::optional<plan::Bound>& bound, std::optional<double> neutral, CellVerdicts verdicts,
                      const std::string& label, const std::string& above = "",
                      const std::string& interval = "interval");

/// "2026-11-21 05:38 UTC".
std::string timeText(double unix_time);

}  // namespace expc::report
