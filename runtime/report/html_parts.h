#pragma once

// The sections of the page, one function each. html.cpp puts them together.

#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/report/chart.h"
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

  /// Places for the charts of one thing, each with its caption; the script draws them. `name`: what they are charts of.
  std::string figures(std::vector<Chart> all, const std::string& name);
};

std::string headSection(const Page& page);
std::string verdictSection(const Page& page);
std::string tableSection(Page& page);
/// What makes the difference between two levels, by their profile trials.
std::string attributionSection(Page& page);
std::string pointSection(const Page& page);
std::string designSection(const Page& page);
std::string trialSection(const Page& page);
std::string environmentSection(const Page& page);
std::string repeatSection(const Page& page);

/// "2026-11-21 05:38 UTC".
std::string timeText(double unix_time);

}  // namespace expc::report
