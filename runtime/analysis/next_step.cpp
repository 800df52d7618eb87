#include "runtime/analysis/next_step.h"

#include <algorithm>
#include <cmath>

#include "runtime/analysis/bound.h"

namespace expc::analysis {
namespace {

constexpr double kMostTimes = 100;  // as many pairs as there are

/// How far the estimate is from the nearest end of its bound, and how far the interval reaches there, on the scale of
/// the estimate: of ratios the logarithm.
struct Distance {
  double gap, reach;
};

std::optional<Distance> distanceOf(const plan::Cell& cell, const plan::Bound& bound, const CellEstimate& estimate) {
  const bool ratio = cell.estimator == plan::Estimator::PairedRatio;
  const auto scale = [&](double value) { return ratio ? std::log(value) : value; };
  std::optional<Distance> nearest;
  for (const double end : ends(bound)) {
    const double towards = end < *estimate.estimate ? estimate.interval->low : estimate.interval->high;
    const Distance distance{std::abs(scale(*estimate.estimate) - scale(end)),
                            std::abs(scale(*estimate.estimate) - scale(towards))};
    if (!std::isfinite(distance.gap) || !std::isfinite(distance.reach)) return std::nullopt;
    if (!nearest || distance.gap < nearest->gap) nearest = distance;
  }
  return nearest;
}

/// Pairs that the cell takes in all; nothing where that is not known.
std::optional<double> pairsFor(const plan::Criterion& criterion, const MeasuredCell& cell) {
  const plan::Cell& planned = criterion.cells[cell.estimate.cell];
  if (cell.state != CellState::Measured || !cell.estimate.estimate || !cell.estimate.interval) return std::nullopt;
  const auto distance = distanceOf(planned, boundOf(criterion, planned), cell.estimate);
  if (!distance || distance->gap <= 0) return std::nullopt;
  const double times = std::pow(distance->reach / distance->gap, 2);
  // One that its own interval decides waits for what Holm asks of several: a little more.
  return times > kMostTimes ? std::nullopt : std::optional(cell.estimate.scope.complete * std::max(1.1, times));
}

}  // namespace

std::optional<NextStep> nextStep(const Evidence& evidence, const plan::Criterion& criterion,
                                 const std::vector<MeasuredCell>& cells) {
  const bool exists = criterion.claim.kind == plan::Claim::Kind::Exists;
  std::optional<double> more;
  for (const MeasuredCell& cell : cells) {
    if (cell.estimate.verdict != Verdict::Inconclusive && cell.estimate.verdict != Verdict::NotRun) continue;
    const std::optional<double> pairs = pairsFor(criterion, cell);
    if (!pairs && exists) continue;
    if (!pairs) return std::nullopt;
    const double own = *pairs - cell.estimate.scope.complete;
    more = !more ? own : exists ? std::min(*more, own) : std::max(*more, own);
  }
  if (!more) return std::nullopt;
  NextStep step;
  step.blocks = static_cast<unsigned>(std::ceil(*more));
  const plan::TrialKind kind = criterion.cells.front().kind;
  unsigned places = 0;
  for (unsigned number = 0; number < evidence.index.places(); ++number)
    places += evidence.index.asked(kind, number) && evidence.index.runs(kind, number);
  if (const auto seconds = evidence.index.typicalSeconds(kind)) step.seconds = *seconds * places * step.blocks;
  return step;
}

}  // namespace expc::analysis
