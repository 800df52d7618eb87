#pragma once

#include <llvm/Support/Error.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/chart.h"
#include "runtime/report/html_options.h"

namespace expc::report {

/// A page is for a browser with scripts on or off, online or not: the policy lets it load nothing. Vega compiles its
/// expressions, which takes 'unsafe-eval'.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:";
/// In the head of a page that loads itself again while it is looked at.
inline constexpr std::string_view kLoadAgain =
    "<script>setInterval(() => document.hidden || location.reload(), 5000)</script>\n";

/// The whole page as text. It loads nothing from anywhere; a Content-Security-Policy inside says so to the browser.
std::string htmlPage(const analysis::Findings& findings, const HtmlOptions& options);

/// The file name of a plan's page, one for each selection of a study: "precision.html", "precision.quick.html",
/// "precision.quick.gpus=2.html".
std::string pageName(const plan::Plan& plan);

/// Writes htmlPage to `path` atomically (a temporary file beside it, synced, then renamed). The error names the path
/// and what the system said; an old page stays as it was.
llvm::Error writeHtml(const std::string& path, const analysis::Findings& findings, const HtmlOptions& options);

/// All charts of the page by their names, in its order.
std::vector<Chart> namedCharts(const analysis::Findings& findings);

/// Draws a chart with the set-up's vl-convert into the file `path` as "svg", "png" or "pdf", black on white. The error
/// says what is missing and how to get it, or what the file system said; a file of that name stays as it was.
llvm::Error drawChart(const Chart& chart, const std::string& format, const std::string& path);

/// Whether this build has the chart library inside (it comes with the set-up's Python environment).
bool hasChartLibrary();

}  // namespace expc::report
