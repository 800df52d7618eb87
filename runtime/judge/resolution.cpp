#include "runtime/judge/resolution.h"

#include <algorithm>

#include "runtime/base/find.h"
#include "runtime/judge/cells.h"
#include "runtime/stats/design.h"
#include "runtime/stats/nested_intervals.h"

namespace expc::judge {

std::optional<Resolution> resolutionBefore(const Plan& plan, const Criterion& criterion, double noise) {
  if (criterion.not_asked || criterion.cells.empty()) return std::nullopt;
  const KindDesign* design = plan::designOf(plan, criterion.cells[0].kind);
  if (!design) return Resolution{Resolution::NoTrials};
  const unsigned n = design->repeat;
  if (criterion.infeasible) return Resolution{Resolution::Memory, n};
  if (!criterion.confidence) return Resolution{Resolution::EveryTrial, n};
  const auto exact = [&](const plan::Cell& cell) { return cell.term && isExact(plan, *cell.term); };
  // Exact metrics have no noise: the same value twice decides.
  if (n > 1 && std::ranges::all_of(criterion.cells, exact)) return Resolution{Resolution::ExactValues, n};
  // Stopping at a width is an adaptive design: its intervals need a higher confidence to keep the claimed one.
  const double confidence =
      design->until.empty() ? *criterion.confidence : stats::confidenceUnderWidthStop(*criterion.confidence);
  // Below a number of pairs no interval of ranks reaches the confidence at all.
  const unsigned needed = stats::minimumPairs(confidence);
  if (n < needed) return Resolution{Resolution::TooFew, n, needed};
  if (criterion.cells[0].estimator != Estimator::PairedRatio) return Resolution{Resolution::Interval, n, needed};
  return Resolution{Resolution::HalfWidth, n, needed, stats::expectedHalfWidth(noise, n, confidence)};
}

}  // namespace expc::judge
