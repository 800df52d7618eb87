#pragma once

// What people read: text for the terminal, JSON for programs, one self-contained HTML page. Only prints; every number comes from
// the plan, the judgement and the records.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <optional>
#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::report {

struct PlanExtras {
  unsigned width = 100;           // columns of the terminal; lines stay within it where words allow
  bool colour = false;            // ANSI
  bool all_points = false;        // else the first of more than 40 are shown, and how many more
  std::optional<double> seconds;  // estimate for all trials, from stored ones
  double noise = 0.01;            // coefficient of variation of one run, for the expected resolution
};

/// The plan for a reader: factors, points, what rules removed and why, trials, criteria with their domain and resolution.
std::string planText(const plan::Plan& plan, const PlanExtras& extras);

/// The plan as JSON lines: a header ("expc.plan-lines/1", with counts, factors, rules, criteria, design), then a line for each
/// point with its labels and parameters.
std::string planJsonLines(const plan::Plan& plan);

struct ResultTextOptions {
  unsigned width = 100;
  bool colour = false;
  std::string html_path;  // of the written page; "": none is named
};

/// The result for a reader: verdicts first, then the study's tables, the comparisons, what went wrong, the page's path.
std::string resultText(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                       const ResultTextOptions& options);

/// The judgement as JSON ("expc.report/1"), self-explaining: cells by the labels of their factors, values in base units.
llvm::json::Value resultJson(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results);

struct HtmlOptions {
  std::string command;     // how to repeat it; "": made from the plan
  double written = 0;      // Unix time shown on the page; 0: now
  bool charts = true;      // false leaves the scripts out: for tests and mail
};

/// The whole page as text. It loads nothing from anywhere; a Content-Security-Policy inside says so to the browser.
std::string htmlPage(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                     const HtmlOptions& options);

/// Writes htmlPage to `path` atomically (a temporary file beside it, synced, then renamed). The error names the path and what the
/// system said; an old page stays as it was.
llvm::Error writeHtml(const std::string& path, const plan::Plan& plan, const analysis::Judgement& judgement,
                      const store::Results& results, const HtmlOptions& options);

/// Whether this build has the chart library inside (it comes with the set-up's Python environment).
bool hasChartLibrary();

}  // namespace expc::report
