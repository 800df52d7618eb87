#pragma once

#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::report {

struct ResultTextOptions {
  unsigned width = 100;
  bool colour = false;
  bool all = false;                // everything that there is to say, not only what decides
  std::string html_path;           // of the written page; "": none is named
  std::string folder = "results";  // that the study's results are in
};

/// The result for a reader: the tables that the study asks for, a line for each verdict with the cells of those that do
/// not pass, one for the trials, what to do next, and the page's path. With `all` every verdict has all its lines and
/// cells, and comparisons, profiles, descriptions and what is missing follow.
std::string resultText(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                       const ResultTextOptions& options);

}  // namespace expc::report
