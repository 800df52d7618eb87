#pragma once

// One attribution by itself: as text for a terminal, and as JSON.

#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/analysis/attribution.h"
#include "runtime/plan/plan.h"
#include "runtime/report/result_text.h"

namespace expc::report {

/// How much of an attribution a terminal shows.
enum class Detail { Summary, Everything };

/// The pair, what its step takes, what a reader must be warned of, and a table for each view.
std::string attributionText(const plan::Plan& plan, const analysis::Attribution& attribution, Detail detail,
                            const ResultTextOptions& options);

/// Times in seconds; intervals are of the difference. Every category of every view.
llvm::json::Object attributionJson(const analysis::Attribution& attribution);

}  // namespace expc::report
