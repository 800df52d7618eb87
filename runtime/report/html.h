#pragma once

// The report page: one HTML file that holds everything (text, tables, charts, data, script) and loads nothing, so that
// it can be mailed, archived and opened without a network. htmlPage() makes it from findings; its sections stand in
// html_parts.h and sections.h.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/chart.h"
#include "runtime/report/html_options.h"

namespace expc::report {

/// The page's Content-Security-Policy: it may load nothing, so that even a flaw in escaping could not send data
/// anywhere. Vega compiles its expressions, which needs 'unsafe-eval'.
inline constexpr std::string_view kPagePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:";
/// Script for a live page: reloads it every five seconds while it is visible.
inline constexpr std::string_view kLoadAgain =
    "<script>setInterval(() => document.hidden || location.reload(), 5000)</script>\n";

/// Returns the whole page, with kPagePolicy in it.
std::string htmlPage(const Findings& findings, const HtmlOptions& options);

/// Returns the file name of a plan's page, different for each selection of a study: "precision.html",
/// "precision.quick.html", "precision.quick.gpus=2.html".
std::string pageName(const Plan& plan);

/// Writes htmlPage to `path` atomically (a temporary file beside it, synced, then renamed). The error names the path
/// and what the system said; an old page stays as it was.
Error writeHtml(const std::string& path, const Findings& findings, const HtmlOptions& options);

/// Returns all charts of the page with their names, in its order; for `report --chart`.
std::vector<Chart> namedCharts(const Findings& findings);

/// Whether this build contains the chart library, which comes from the set-up's Python environment; without it the page
/// says so.
bool hasChartLibrary();

}  // namespace expc::report
