#include "runtime/report/resolution.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/format.h"
#include "runtime/plan/find.h"
#include "runtime/report/layout.h"
#include "runtime/report/verdict_text.h"
#include "runtime/stats/design.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/width_stop.h"

namespace expc::report {

std::string resolutionText(const plan::Plan& plan, const plan::Criterion& criterion, double noise) {
  if (criterion.not_asked || criterion.cells.empty()) return "";
  const plan::TrialKind kind = criterion.cells[0].kind;
  const plan::KindDesign* design = plan::designOf(plan, kind);
  if (!design) return fmt::format("no {} trials are planned", toString(kind));
  if (criterion.infeasible) return "passes when each ran out of memory in 2 blocks, fails when one ran well";
  const unsigned n = design->repeat;
  if (!criterion.confidence) {
    return fmt::format("must hold in every {}, {} in each cell: where none fails, {}", nounOf(criterion), n,
                       analysis::formatWithoutFailure(n));
  }
  const auto exact = [&](const plan::Cell& cell) { return cell.term && analysis::isExact(plan, *cell.term); };
  if (n > 1 && std::all_of(criterion.cells.begin(), criterion.cells.end(), exact))
    return "exact values decide it where they do not vary";
  const double confidence =
      design->until.empty() ? *criterion.confidence : stats::confidenceUnderWidthStop(*criterion.confidence);
  const unsigned needed = stats::minimumPairs(confidence);
  if (n < needed)
    return fmt::format("{} cannot give an interval at {}: {} are needed", counted(n, "block"),
                       analysis::formatConfidence(*criterion.confidence), needed);
  if (criterion.cells[0].estimator != plan::Estimator::PairedRatio)
    return fmt::format("{} give an interval at {}", counted(n, "block"),
                       analysis::formatConfidence(*criterion.confidence));
  const double half_width = stats::expectedHalfWidth(noise, n, confidence);
  return fmt::format("expected resolution ±{} at {} noise ({}, {})", twoDigits(half_width), twoDigits(noise),
                     counted(n, "block"), analysis::formatConfidence(*criterion.confidence));
}

}  // namespace expc::report
