#include "runtime/analysis/next_step.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/analysis/bound.h"
#include "runtime/stats/distributions.h"

namespace expc::analysis {
namespace {

constexpr double kMostTimes = 100;  // as many pairs as there are
/// One that its own interval decides waits for what Holm asks of several: a little more.
constexpr double kLeastTimes = 1.1;

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

/// How many times as many pairs a further look at `pairs` takes for the same half-width, since alpha was spent before.
double priceOfLooking(const plan::Criterion& criterion, const Standing& standing, double pairs) {
  const Look& look = standing.look;
  std::vector<double> fractions;
  for (const unsigned before : look.before) fractions.push_back(before / pairs);
  fractions.push_back(look.now / pairs);
  fractions.push_back(1);
  const auto quantile = [](double alpha) { return stats::normalQuantile(1 - alpha / 2); };
  const double then = stats::LookLevels(fractions).nominal(1 - *criterion.confidence);
  return std::pow(quantile(then) / quantile(1 - look.confidence), 2);
}

unsigned mostOf(const plan::Plan& plan, plan::TrialKind kind) {
  for (const plan::KindDesign& design : plan.design.kinds)
    if (design.kind == kind) return design.most();
  return 0;
}

/// What one cell takes, in pairs that it then has.
struct Needed {
  NextStep::Reach reach;
  double pairs = 0;
};

std::optional<Needed> neededFor(const plan::Plan& plan, const plan::Criterion& criterion, const Standing& standing,
                                const MeasuredCell& cell) {
  const plan::Cell& planned = criterion.cells[cell.estimate.cell];
  const unsigned complete = cell.estimate.scope.complete;
  if (cell.state != CellState::Measured) return std::nullopt;
  if (!cell.estimate.interval && cell.fewest > complete) return Needed{NextStep::Reach::Intervals, double(cell.fewest)};
  if (!cell.estimate.interval || !cell.estimate.estimate) return std::nullopt;
  const auto distance = distanceOf(planned, boundOf(criterion, planned), cell.estimate);
  if (!distance) return std::nullopt;
  const double times = distance->gap > 0 ? std::pow(distance->reach / distance->gap, 2) : INFINITY;
  if (times > kMostTimes) return Needed{NextStep::Reach::OutOfReach};
  const double pairs = complete * std::max(kLeastTimes, times);
  if (cell.unfinished && pairs <= mostOf(plan, planned.kind)) return Needed{NextStep::Reach::Decides, pairs};
  const double price = priceOfLooking(criterion, standing, pairs);
  return Needed{NextStep::Reach::Decides, complete * std::max(kLeastTimes, times * price)};
}

}  // namespace

std::optional<NextStep> nextStep(const Evidence& evidence, const plan::Criterion& criterion,
                                 const MeasuredCriterion& measured) {
  const bool exists = criterion.claim.kind == plan::Claim::Kind::Exists;
  std::optional<NextStep> step;
  for (const MeasuredCell& cell : measured.cells) {
    if (cell.estimate.verdict != Verdict::Inconclusive && cell.estimate.verdict != Verdict::NotRun) continue;
    const auto needed = neededFor(evidence.index.plan(), criterion, measured.standing, cell);
    if (!needed && exists) continue;
    if (!needed) return std::nullopt;
    const Scope& scope = cell.estimate.scope;
    NextStep own{needed->reach, 0, 0, {}};
    if (needed->reach != NextStep::Reach::OutOfReach) {
      const auto pairs = static_cast<unsigned>(std::ceil(needed->pairs));
      own.blocks = pairs - scope.complete;
      own.repetitions = std::max(pairs + scope.lost, scope.planned);
    }
    const auto effort = [](const NextStep& one) { return std::pair(one.reach, one.blocks); };
    if (!step || (effort(own) < effort(*step)) == exists) step = own;
  }
  if (!step || step->reach == NextStep::Reach::OutOfReach) return step;
  const plan::TrialKind kind = criterion.cells.front().kind;
  unsigned places = 0;
  for (unsigned number = 0; number < evidence.index.places(); ++number)
    places += evidence.index.asked(kind, number) && evidence.index.runs(kind, number);
  if (const auto seconds = evidence.index.typicalSeconds(kind)) step->seconds = *seconds * places * step->blocks;
  return step;
}

}  // namespace expc::analysis
