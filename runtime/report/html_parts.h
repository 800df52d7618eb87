#pragma once

// The sections of the page, one function each; html.cpp puts them together. Sections return blocks, and leave their
// charts in Page, since charts are numbered in the order of the page and drawn by one script at its end.

#include <string>
#include <vector>

#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/report/answer.h"
#include "runtime/report/chart.h"
#include "runtime/report/document.h"
#include "runtime/report/html_options.h"
#include "runtime/store/records.h"

namespace expc::report {

/// The findings that sections read, and the charts that they leave for the script.
struct Page : Findings {
  const HtmlOptions& options;
  std::vector<Chart> charts = {};
  const Answer answer = answerOf(*this);

  /// Registers charts and returns the markup of their places, each with its caption. `name` says what they are charts
  /// of.
  std::string figures(std::vector<Chart> all, const std::string& name);
};

/// Returns the markup of a verdict's words, each with its sign.
std::string badgesMarkup(const std::vector<Badge>& badges);

/// Facts about the study at the top of the page, and what is needed to repeat it at the end.
Facts headFacts(const Page& page);
Facts repeatFacts(const Page& page);
/// The verdicts with their tallies, each criterion as a card, what to do next, and how far to trust it all.
std::vector<Block> verdictBlocks(const Page& page);
/// The tables and plots that the study asks for, each with its charts.
std::vector<Block> tableBlocks(Page& page);
/// The attribution of differences between levels, by profile trials.
std::vector<Block> attributionBlocks(Page& page);
/// The points that are left out, and why.
std::vector<Block> pointBlocks(const Page& page);
/// The factors, the trials and the parameters that are held fixed.
std::vector<Block> designBlocks(const Page& page);
/// How trials ended, and what is missing.
std::vector<Block> trialBlocks(const Page& page);
/// The sessions with their machines, and what workers recorded of themselves.
std::vector<Block> environmentBlocks(const Page& page);

}  // namespace expc::report
