#pragma once

// What of a rehearsal is shown, and in which words: terminal, plan and page ask here. To show more of a point, add a
// column.

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"

namespace expc::report {

struct RehearsalColumn {
  const char* name;
  bool exact;  // the same on every machine: it may stand on a report's page
  /// The cell of a point that runs: `seen.rehearsed` is there.
  std::string (*text)(const plan::Plan& plan, const plan::Point& point, const rehearsal::Point& seen);
};

/// What the point takes: of the rank that takes most.
const std::vector<RehearsalColumn>& memoryColumns();
/// What a step does: of the rank that does most.
const std::vector<RehearsalColumn>& stepColumns();

/// "runs", "does not fit, as expected", "runs, though expected not to fit".
std::string outcomeText(const plan::Point& point, const rehearsal::Point& seen);

/// Most of a device's memory that the allocator of a rank gave out, in bytes; of a point that runs.
uint64_t rehearsedPeak(const plan::Rehearsed& rehearsed);
/// The workload's estimate of that, in bytes, where it has one at the point.
std::optional<double> estimatedPeak(const plan::Point& point);

/// "4 cards of 87.5 GiB"; of rehearsals on several each.
std::string cardsText(const rehearsal::Study& study);

/// What is known of a plan's points, in its order, without the rest.
rehearsal::Study rehearsalOf(const plan::Plan& plan, const rehearsal::Study& study);

/// The same for programs: counts, bytes and operations, which are exact, and nothing else. An element for each point.
llvm::json::Array rehearsalJson(const plan::Plan& plan, const rehearsal::Study& study);

}  // namespace expc::report
