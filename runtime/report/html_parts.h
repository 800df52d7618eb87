#pragma once

// The sections of the page, one function each. html.cpp puts them together.

#include <string>
#include <vector>

#include "runtime/analysis/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/chart.h"
#include "runtime/report/document.h"
#include "runtime/report/html_options.h"
#include "runtime/store/records.h"

namespace expc::report {

/// The input of the sections, and the charts that they leave for the script, in the order of the page.
struct Page : analysis::Findings {
  const HtmlOptions& options;
  std::vector<Chart> charts = {};

  /// Places for the charts of one thing, each with its caption; the script draws them. `name`: what they are charts of.
  std::string figures(std::vector<Chart> all, const std::string& name);
};

/// The words of a verdict, each with its sign.
std::string badgesMarkup(const std::vector<Badge>& badges);

/// What the study is, above all sections, and what it takes to repeat it.
Facts headFacts(const Page& page);
Facts repeatFacts(const Page& page);
std::vector<Block> verdictBlocks(const Page& page);
std::vector<Block> tableBlocks(Page& page);
/// Attributes the difference between two levels, by their profile trials.
std::vector<Block> attributionBlocks(Page& page);
std::vector<Block> pointBlocks(const Page& page);
std::vector<Block> designBlocks(const Page& page);
std::vector<Block> trialBlocks(const Page& page);
std::vector<Block> environmentBlocks(const Page& page);

}  // namespace expc::report
