#pragma once

#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::report {

struct ResultTextOptions {
  unsigned width = 100;
  bool colour = false;
  std::string html_path;           // of the written page; "": none is named
  std::string folder = "results";  // that the study's results are in
};

/// The result for a reader: verdicts first, then the study's tables, the comparisons, what went wrong, the page's path.
std::string resultText(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                       const ResultTextOptions& options);

}  // namespace expc::report
