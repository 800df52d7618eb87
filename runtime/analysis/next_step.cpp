#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "runtime/analysis/criteria.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/find.h"
#include "runtime/stats/design.h"
#include "runtime/stats/distributions.h"

namespace expc::analysis {
namespace {

constexpr double kMostTimes = 100;  // as many pairs as there are
/// One that its own interval decides waits for what Holm asks of several: a little more.
constexpr double kLeastTimes = 1.1;

/// How many times as many pairs take the interval to the nearest end of the bound, on whichever side of that the
/// estimate lies; infinite where it lies on it, nothing where an end is infinite, or no farther than the `step` that
/// every interval reaches. Of ratios on logarithms.
std::optional<double> timesAsManyPairs(const plan::Cell& cell, const plan::Bound& bound, const CellEstimate& estimate,
                                       double step = 0) {
  const bool ratio = cell.estimator == plan::Estimator::PairedRatio;
  const auto scale = [&](double value) { return ratio ? std::log(value) : value; };
  double nearest = INFINITY, reach = 0;
  for (const double end : ends(bound)) {
    const double towards = end < *estimate.estimate ? estimate.interval->low : estimate.interval->high;
    const double gap = std::abs(scale(*estimate.estimate) - scale(end));
    const double half_width = std::abs(scale(*estimate.estimate) - scale(towards));
    if (!std::isfinite(gap) || !std::isfinite(half_width) || (step > 0 && gap <= step)) return std::nullopt;
    if (gap < nearest) nearest = gap, reach = half_width;
  }
  return nearest > 0 ? std::pow(reach / nearest, 2) : INFINITY;
}

/// How long blocks take, by the trials that there were.
std::optional<double> secondsOf(const Index& index, plan::TrialKind kind, unsigned blocks) {
  unsigned places = 0;
  for (unsigned number = 0; number < index.places(); ++number)
    places += index.asked(kind, number) && index.runs(kind, number);
  const auto seconds = index.typicalSeconds(kind);
  return seconds ? std::optional(*seconds * places * blocks) : std::nullopt;
}

/// What a further look at `pairs` may miss with, since alpha was spent before.
double levelAt(const plan::Criterion& criterion, const LookHistory& history, double pairs) {
  const auto looks = history.spending(unsigned(std::ceil(pairs)), *history.ended, LookHistory::Place::Further);
  return stats::nominalLevels(1 - *criterion.confidence, looks).back();
}

/// How many times as many pairs a further look at `pairs` takes for the same half-width.
double priceOfLooking(const plan::Criterion& criterion, const Look& look, const LookHistory& history, double pairs) {
  const auto quantile = [](double alpha) { return stats::normalQuantile(1 - alpha / 2); };
  return std::pow(quantile(levelAt(criterion, history, pairs)) / quantile(1 - look.confidence), 2);
}

unsigned mostOf(const plan::Plan& plan, plan::TrialKind kind) {
  const plan::KindDesign* design = plan::designOf(plan, kind);
  return design ? design->most() : 0;
}

/// What one cell takes, in pairs that it then has.
struct Needed {
  NextStep::Reach reach;
  double pairs = 0;
  bool further_look = true;
};

NextStep stepTo(const Needed& needed, const Scope& scope) {
  if (needed.reach == NextStep::Reach::OutOfReach) return {needed.reach};
  const auto pairs = static_cast<unsigned>(std::ceil(needed.pairs));
  return {.reach = needed.reach,
          .blocks = pairs - scope.complete,
          .repetitions = std::max(pairs + scope.lost, scope.planned),
          .further_look = needed.further_look};
}

/// Of a cell that has too few. Once there was something to see, the look at more is a further one, of a level that
/// depends on how many there are then.
Needed neededForInterval(const Evidence& evidence, const plan::Criterion& criterion, const MeasuredCriterion& measured,
                         const MeasuredCell& cell) {
  const Standing& standing = measured.standing;
  const unsigned complete = cell.estimate.scope.complete;
  const unsigned planned = mostOf(evidence.index.plan(), criterion.cells[cell.estimate.cell].kind);
  Needed needed{NextStep::Reach::Intervals, double(cell.fewest)};
  const bool on_the_way = cell.estimate.unfinished && cell.fewest <= planned;
  const bool seen = standing.look.now >= stats::minimumPairs(*criterion.confidence);
  needed.further_look = standing.history.ended || (seen && !on_the_way);
  if (!needed.further_look) return needed;
  const LookHistory history = afterwards(criterion, measured.cells, standing);
  // The more there are then, the fewer the level of the look asks for: what it asks for at the fewest is enough.
  const double values = standing.look.now + needed.pairs - complete;
  needed.pairs = std::max(needed.pairs, double(fewestFor(1 - levelAt(criterion, history, values), cell)));
  return needed;
}

std::optional<Needed> neededFor(const Evidence& evidence, const plan::Criterion& criterion,
                                const MeasuredCriterion& measured, const MeasuredCell& cell) {
  const plan::Cell& planned = criterion.cells[cell.estimate.cell];
  const unsigned complete = cell.estimate.scope.complete;
  if (cell.estimate.state != CellState::Measured) return std::nullopt;
  if (!cell.estimate.interval && cell.fewest > complete) return neededForInterval(evidence, criterion, measured, cell);
  if (!cell.estimate.interval || !cell.estimate.estimate) return std::nullopt;
  // Blocks of the sessions that there are tell no more of how far sessions lie apart.
  if (cell.estimate.spreads && cell.estimate.spreads->apart) return std::nullopt;
  const auto times = timesAsManyPairs(planned, boundOf(criterion, planned), cell.estimate, cell.step);
  if (!times) return std::nullopt;
  if (*times > kMostTimes) return Needed{NextStep::Reach::OutOfReach};
  const double pairs = complete * std::max(kLeastTimes, *times);
  if (cell.estimate.unfinished && pairs <= mostOf(evidence.index.plan(), planned.kind))
    return Needed{NextStep::Reach::Decides, pairs};
  const LookHistory history = afterwards(criterion, measured.cells, measured.standing);
  const double price = priceOfLooking(criterion, measured.standing.look, history, pairs);
  return Needed{NextStep::Reach::Decides, complete * std::max(kLeastTimes, *times * price)};
}

/// Whether the claim holds if each open cell is what its estimate says.
bool holdsAtEstimates(const plan::Criterion& criterion, const plan::Claim& claim,
                      const std::vector<MeasuredCell>& cells) {
  if (claim.kind == plan::Claim::Kind::Cell) {
    const CellEstimate& estimate = cells[claim.cell].estimate;
    if (estimate.verdict == Verdict::Pass) return true;
    if (estimate.verdict != Verdict::Inconclusive || !estimate.estimate) return false;
    return satisfies(boundOf(criterion, criterion.cells[claim.cell]), *estimate.estimate, *estimate.estimate);
  }
  const auto holds = [&](const plan::Claim& child) { return holdsAtEstimates(criterion, child, cells); };
  return claim.kind == plan::Claim::Kind::Exists ? std::ranges::any_of(claim.children, holds)
                                                 : std::ranges::all_of(claim.children, holds);
}

}  // namespace

std::optional<NextStep> nextStep(const Evidence& evidence, const plan::Criterion& criterion,
                                 const MeasuredCriterion& measured) {
  const bool exists = criterion.claim.kind == plan::Claim::Kind::Exists;
  std::optional<NextStep> step;
  for (const MeasuredCell& cell : measured.cells) {
    if (cell.estimate.verdict != Verdict::Inconclusive && cell.estimate.verdict != Verdict::NotRun) continue;
    const auto needed = neededFor(evidence, criterion, measured, cell);
    if (!needed && exists) continue;
    if (!needed) return std::nullopt;
    const NextStep own = stepTo(*needed, cell.estimate.scope);
    const auto effort = [](const NextStep& one) { return std::pair(one.reach, one.blocks); };
    if (!step || (effort(own) < effort(*step)) == exists) step = own;
  }
  if (!step || step->reach == NextStep::Reach::OutOfReach) return step;
  step->seconds = secondsOf(evidence.index, criterion.cells.front().kind, step->blocks);
  if (step->reach == NextStep::Reach::Decides)
    step->towards = holdsAtEstimates(criterion, criterion.claim, measured.cells) ? Verdict::Pass : Verdict::Fail;
  return step;
}

std::optional<NextStep> nextStepForTrust(const Evidence& evidence, const plan::Cell& control, const plan::Bound& band,
                                         const CellEstimate& estimate) {
  if (!estimate.estimate || !satisfies(band, *estimate.estimate, *estimate.estimate)) return std::nullopt;
  const auto times = timesAsManyPairs(control, band, estimate);
  if (!times || *times > kMostTimes) return std::nullopt;
  NextStep step =
      stepTo({NextStep::Reach::Trusts, estimate.scope.complete * std::max(kLeastTimes, *times)}, estimate.scope);
  step.seconds = secondsOf(evidence.index, control.kind, step.blocks);
  return step;
}

}  // namespace expc::analysis
