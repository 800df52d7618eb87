#include "runtime/judge/criteria.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/plan/evaluate.h"
#include "runtime/stats/nested_intervals.h"
#include "runtime/stats/procedures.h"

namespace expc::judge {
namespace {

using Kind = plan::Claim::Kind;

/// The p-values of a node's children, without those that are seen, and how many of the others must hold.
struct Parts {
  std::vector<double> p_values;
  std::vector<size_t> of;  // the child of each
  size_t needed;
};

/// `side` says which p-values: those of holding or of failing. Of the children that are seen, those that do so count as
/// held at once, and the others never.
Parts partsOf(const std::vector<Evidences>& children, size_t needed, double Evidences::* side) {
  Parts parts{{}, {}, needed};
  for (size_t i = 0; i < children.size(); ++i) {
    if (!children[i].seen) {
      parts.p_values.push_back(children[i].*side);
      parts.of.push_back(i);
    } else if (children[i].*side == 0 && parts.needed > 0) {
      --parts.needed;
    }
  }
  return parts;
}

/// p-values of a subtree.
Evidences combine(const plan::Claim& claim, const std::vector<Evidences>& cells);

std::vector<Evidences> childrenOf(const plan::Claim& claim, const std::vector<Evidences>& cells) {
  std::vector<Evidences> children;
  for (const plan::Claim& child : claim.children) children.push_back(combine(child, cells));
  return children;
}

Evidences combine(const plan::Claim& claim, const std::vector<Evidences>& cells) {
  if (claim.kind == Kind::Cell) return claim.cell < cells.size() ? cells[claim.cell] : Evidences{};
  if (claim.children.empty()) return {};
  const std::vector<Evidences> children = childrenOf(claim, cells);
  const auto p = [&](size_t needed, double Evidences::* side) {
    const Parts parts = partsOf(children, needed, side);
    return stats::partialConjunction(parts.p_values, parts.needed);
  };
  const size_t needed = claim.needed();
  return {p(needed, &Evidences::satisfied), p(children.size() - needed + 1, &Evidences::violated),
          std::ranges::all_of(children, &Evidences::seen)};
}

/// Gives each cell the levels at which its own pass and fail are decided. A cell that stands in several places of the
/// tree keeps the least strict of each.
void assign(const plan::Claim& claim, const std::vector<Evidences>& cells, double pass_level, double fail_level,
            Decision& decision) {
  if (claim.kind == Kind::Cell) {
    if (claim.cell >= cells.size()) return;
    const Evidences& p = cells[claim.cell];
    Levels& levels = decision.levels[claim.cell];
    levels = {std::max(levels.pass, pass_level), std::max(levels.fail, fail_level)};
    if (stats::significant(p.satisfied, pass_level)) decision.cells[claim.cell] = Verdict::Pass;
    if (stats::significant(p.violated, fail_level)) decision.cells[claim.cell] = Verdict::Fail;
    return;
  }
  const std::vector<Evidences> children = childrenOf(claim, cells);
  const auto levelsOf = [&](size_t needed, double Evidences::* side, double alpha) {
    const Parts parts = partsOf(children, needed, side);
    const std::vector<double> holm = stats::holmLevels(parts.p_values, alpha, std::max<size_t>(1, parts.needed));
    std::vector<double> levels(children.size(), alpha);
    for (size_t i = 0; i < holm.size(); ++i) levels[parts.of[i]] = holm[i];
    return levels;
  };
  if (children.empty()) return;
  const size_t needed = claim.needed();
  const std::vector<double> pass = levelsOf(needed, &Evidences::satisfied, pass_level);
  const std::vector<double> fail = levelsOf(children.size() - needed + 1, &Evidences::violated, fail_level);
  for (size_t i = 0; i < children.size(); ++i) assign(claim.children[i], cells, pass[i], fail[i], decision);
}

/// Clears the marks of cells whose values matter: all but those beside a part of an `or` that is seen to hold, as in
/// `absent(energy) or energy <= 5kJ`.
void markIdle(const plan::Claim& claim, const std::vector<Evidences>& cells, bool idle, std::vector<bool>& marks) {
  if (claim.kind == Kind::Cell) {
    if (claim.cell < marks.size() && !idle) marks[claim.cell] = false;
    return;
  }
  const std::vector<Evidences> children = childrenOf(claim, cells);
  const auto holds = [](const Evidences& child) { return child.seen && child.satisfied == 0; };
  const bool held = claim.kind == Kind::Exists && std::ranges::any_of(children, holds);
  for (size_t i = 0; i < children.size(); ++i)
    markIdle(claim.children[i], cells, idle || (held && !holds(children[i])), marks);
}

bool outOfMemory(CellState state) { return state == CellState::Infeasible || state == CellState::Unstable; }

/// Without a confidence the claim is about the trials themselves: each must satisfy the bound, and the planned ones
/// must be in.
Evidences everyTrial(const plan::Bound& bound, const MeasuredCell& cell) {
  const std::vector<double>& values = cell.estimate.values;
  const auto broken = [&](double value) { return !satisfies(bound, value, value); };
  if (std::ranges::any_of(values, broken)) return {1, 0};
  return {values.empty() || cell.estimate.unfinished ? 1.0 : 0.0, 1};
}

Evidences evidenceOf(const Criterion& criterion, const plan::Bound& bound, const stats::LookLevels& levels,
                     const MeasuredCell& cell) {
  if (isInfeasible(criterion, criterion.cells[cell.estimate.cell]))
    return {cell.estimate.verdict == Verdict::Pass ? 0.0 : 1.0, cell.estimate.verdict == Verdict::Fail ? 0.0 : 1.0,
            true};
  if (outOfMemory(cell.estimate.state)) return {1, 0};
  if (cell.estimate.state != CellState::Measured) return {};
  if (isAbsence(criterion.cells[cell.estimate.cell])) {
    const auto [satisfied, violated, _] = everyTrial(bound, cell);
    return {satisfied, violated, true};
  }
  Evidences found;
  const auto look = [&](const stats::NestedIntervals& intervals, const stats::LookLevels& at) {
    const auto least = [&](auto holds) {
      return at.overall(intervals.smallestAlpha([&](double low, double high) { return holds(bound, low, high); }));
    };
    found = {std::min(found.satisfied, least(plan::satisfies)), std::min(found.violated, least(plan::violates))};
  };
  if (criterion.confidence) {
    look(cell.intervals, levels);
    for (const EarlierLook& earlier : cell.earlier) look(earlier.intervals, earlier.levels);
  } else {
    found = everyTrial(bound, cell);
  }
  // The other trials alone are no sample: their interval decides nothing, and only one trial by itself can break a
  // bound.
  if (cell.estimate.unusable) found = {1, criterion.confidence ? 1 : found.violated};
  return found;
}

Verdict cellVerdict(const MeasuredCell& cell, Verdict decided) {
  if (outOfMemory(cell.estimate.state)) return Verdict::Infeasible;
  if (cell.estimate.state == CellState::Broken) return Verdict::Broken;
  return cell.estimate.state == CellState::NotRun ? Verdict::NotRun : decided;
}

/// The smallest number of values over the cells that have values, the most sessions and nodes.
Scope scopeOf(const Criterion& criterion, const std::vector<MeasuredCell>& cells) {
  Scope scope;
  bool any = false;
  const bool all_seen =
      std::ranges::all_of(criterion.cells, [&](const plan::Cell& cell) { return isSeen(criterion, cell); });
  for (size_t i = 0; i < cells.size(); ++i) {
    if (isSeen(criterion, criterion.cells[i]) && !all_seen) continue;
    const Scope& other = cells[i].estimate.scope;
    if (!std::exchange(any, true) || other.complete < scope.complete) {
      scope.planned = other.planned;
      scope.complete = other.complete;
    }
    scope.lost = std::max(scope.lost, other.lost);
    scope.sessions = std::max(scope.sessions, other.sessions);
    scope.nodes = std::max(scope.nodes, other.nodes);
  }
  return scope;
}

/// The verdict of all from what was decided; `of` has the verdicts of the cells, and `idle` marks those whose values do
/// not matter.
Verdict overall(const std::vector<MeasuredCell>& cells, const std::vector<Verdict>& of, const std::vector<bool>& idle,
                Verdict decided) {
  const auto all = [&](auto holds) { return std::ranges::all_of(cells, holds); };
  if (std::ranges::all_of(of, [](Verdict one) { return one == Verdict::NotRun; })) return Verdict::NotRun;
  if (all([](const MeasuredCell& cell) { return cell.estimate.state == CellState::Infeasible; }))
    return Verdict::Infeasible;
  if (decided == Verdict::Fail) return decided;
  // Also where one cell that passes would be enough: what was asked for is not there.
  for (size_t i = 0; i < cells.size(); ++i)
    if (of[i] == Verdict::Broken && !idle[i]) return Verdict::Broken;
  for (size_t i = 0; i < cells.size(); ++i)
    if (cells[i].estimate.unusable && !idle[i]) return Verdict::Inconclusive;
  return decided;
}

/// Gives each cell the interval that decides it: where Holm's correction leaves a cell less than all of the error, the
/// one at that level. It concerns cells that pass or fail at such a level, and open ones that their own interval would
/// decide if they were the only ones.
void showDeciding(const Plan& plan, const Criterion& criterion, const std::vector<Levels>& levels,
                  MeasuredCriterion& measured) {
  std::vector<MeasuredCell>& cells = measured.cells;
  for (size_t i = 0; i < cells.size(); ++i) {
    CellEstimate& estimate = cells[i].estimate;
    if (!estimate.interval || estimate.constant || isAbsence(criterion.cells[i])) continue;
    const plan::Bound& bound = boundOf(criterion, criterion.cells[i]);
    const bool open = estimate.verdict == Verdict::Inconclusive;
    const auto decides = [&](const stats::Interval& one) {
      return violates(bound, one.low, one.high) || satisfies(bound, one.low, one.high);
    };
    if (open ? !decides(*estimate.interval) || estimate.unusable
             : estimate.verdict != Verdict::Pass && estimate.verdict != Verdict::Fail)
      continue;
    const bool fails = violates(bound, estimate.interval->low, estimate.interval->high);
    const double alpha = fails ? levels[i].fail : levels[i].pass;
    if (alpha >= 1 - *criterion.confidence - 1e-9) continue;
    const CellEstimate alone = estimate;
    readAt(plan, criterion.cells[i], alpha, measured.of(criterion.cells[i].kind).levels, cells[i]);
    if (estimate.interval || open)
      estimate.uncorrected = alone.interval;
    else
      estimate = alone;  // decided by an interval too wide to be shown
  }
}

/// Adds the earlier looks to a cell. A look that excludes the estimate of all values does not count: it may have been
/// wrong by chance, and nothing has to rest on it.
void addEarlierLooks(const Evidence& evidence, const Criterion& criterion, const Standing& standing,
                     MeasuredCell& cell) {
  if (!cell.estimate.estimate) return;
  const double alpha = 1 - *criterion.confidence, estimate = *cell.estimate.estimate;
  for (const unsigned values : standing.look.before) {
    auto intervals = intervalsAfter(evidence, criterion.cells[cell.estimate.cell], cell, values);
    if (!intervals) return;
    EarlierLook look{values, std::move(*intervals), standing.history.levelsAt(values, standing.look.of)};
    const auto seen = look.intervals.interval(1 - look.levels.nominal(alpha));
    if (seen && seen->low <= estimate && estimate <= seen->high) cell.earlier.push_back(std::move(look));
  }
}

/// Look::decided_at of a verdict.
std::optional<unsigned> decidedAt(const Criterion& criterion, MeasuredCriterion measured, Verdict verdict) {
  if ((verdict != Verdict::Pass && verdict != Verdict::Fail) || !measured.others.empty()) return std::nullopt;
  std::vector<std::vector<EarlierLook>> earlier;
  for (MeasuredCell& cell : measured.cells) earlier.push_back(std::exchange(cell.earlier, {}));
  if (decideCriterion(criterion, measured).verdict == verdict) return std::nullopt;
  for (const unsigned values : measured.standing.look.before) {
    for (size_t i = 0; i < earlier.size(); ++i)
      std::ranges::copy_if(earlier[i], std::back_inserter(measured.cells[i].earlier),
                           [&](const EarlierLook& look) { return look.values == values; });
    if (decideCriterion(criterion, measured).verdict == verdict) return values;
  }
  return std::nullopt;
}

/// Judges one point that is claimed to run out of memory.
CellEstimate judgeMemory(const Evidence& evidence, const plan::Cell& cell) {
  using plan::Reason;
  const Place& place = cell.points.front();
  const PlaceOutcomes& outcomes = evidence.index.of(cell.kind, place);
  CellEstimate estimate;
  const unsigned blocks = outcomes.infeasible;
  const double all = outcomes.outcomes.size();
  const auto is = [&](Verdict verdict, Reason reason) {
    estimate.verdict = verdict;
    estimate.why = because(std::move(reason));
  };
  const auto of = [&](Reason::Code code, std::vector<double> numbers = {}, const std::string& said = "") {
    return about(evidence.index, place, code, std::move(numbers), said);
  };
  if (outcomes.outcomes.empty())
    is(Verdict::NotRun, whyNotRun(evidence.index, place, true));
  else if (outcomes.valid > 0)
    is(Verdict::Fail, of(Reason::RanWell, {double(outcomes.valid), all, double(blocks)}, outcomes.memory_reason));
  else if (blocks >= kInfeasibleBlocks)
    is(Verdict::Pass, of(Reason::RanOutIn, {double(blocks)}));
  else if (blocks > 0 && blocks == all && !evidence.wants(cell.kind, place))
    is(Verdict::Pass, of(Reason::RanOutInOnlyBlock));
  else if (blocks > 0)
    is(Verdict::Inconclusive, of(Reason::RanOutTooSeldom, {double(blocks), kInfeasibleBlocks}));
  else
    is(outcomes.failed > 0 ? Verdict::Broken : Verdict::Inconclusive,
       of(Reason::NeitherOutNorWell, {}, outcomes.last_reason));
  estimate.scope.planned = kInfeasibleBlocks;
  estimate.scope.complete = blocks;
  std::set<int64_t> sessions;
  for (const Outcome& outcome : outcomes.outcomes) sessions.insert(outcome.session);
  estimate.scope.sessions = sessions.size();
  estimate.scope.nodes = evidence.index.nodes(cell, sessions).size();
  return estimate;
}

/// The scope of a verdict about memory alone. One passing point decides an exists and one failing point a forall. The
/// other points do not change how sure that is.
Scope scopeOfMemory(const CriterionResult& result) {
  const auto decides = [&](const CellEstimate& cell) { return cell.verdict == result.verdict; };
  const bool decided = std::ranges::any_of(result.cells, decides);
  const CellEstimate* fewest = nullptr;
  for (const CellEstimate& cell : result.cells)
    if ((!decided || decides(cell)) && (!fewest || cell.scope.complete < fewest->scope.complete)) fewest = &cell;
  return fewest->scope;
}

/// Sets where the estimated cells stand, for each kind of trials.
void stand(const Evidence& evidence, const Criterion& criterion, MeasuredCriterion& measured) {
  const auto isFirst = [&](const plan::Cell& cell) {
    return cell.kind == criterion.cells.front().kind && isEstimated(criterion, cell);
  };
  if (std::ranges::all_of(criterion.cells, isFirst)) {
    measured.standing = standingOf(evidence, criterion, measured.cells);
    return;
  }
  std::map<TrialKind, std::vector<MeasuredCell>> by_kind;
  for (const MeasuredCell& cell : measured.cells)
    if (const plan::Cell& planned = criterion.cells[cell.estimate.cell]; isEstimated(criterion, planned))
      by_kind[planned.kind].push_back(cell);
  for (const auto& [kind, cells] : by_kind)
    (kind == criterion.cells.front().kind ? measured.standing : measured.others[kind]) =
        standingOf(evidence, criterion, cells);
}

}  // namespace

Decision decide(const plan::Claim& claim, const std::vector<Evidences>& cells, double alpha) {
  Decision decision;
  decision.cells.assign(cells.size(), Verdict::Inconclusive);
  decision.levels.resize(cells.size());
  assign(claim, cells, alpha, alpha, decision);
  const Evidences root = combine(claim, cells);
  if (stats::significant(root.satisfied, alpha)) decision.verdict = Verdict::Pass;
  if (stats::significant(root.violated, alpha)) decision.verdict = Verdict::Fail;
  return decision;
}

std::set<std::string> claimedInfeasible(const Plan& plan) {
  std::set<std::string> claimed;
  for (const Criterion& criterion : plan.criteria)
    for (const plan::Cell& cell : criterion.cells)
      if (isInfeasible(criterion, cell)) claimed.insert(cell.points.front().point);
  return claimed;
}

bool isLookedAt(const Criterion& criterion, TrialKind kind) {
  return !criterion.not_asked && std::ranges::any_of(criterion.cells, [&](const plan::Cell& cell) {
    return cell.kind == kind && isEstimated(criterion, cell);
  });
}

bool lookDecides(const Plan& plan, TrialKind kind, const std::vector<CriterionResult>& results) {
  bool any = false;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!isLookedAt(plan.criteria[i], kind)) continue;
    const bool open = results[i].verdict == Verdict::Inconclusive || results[i].verdict == Verdict::NotRun;
    if (open || results[i].untrusted) return false;  // no further trial mends Broken
    any = true;
  }
  return any;
}

MeasuredCriterion measureCriterion(const Evidence& evidence, const Criterion& criterion) {
  MeasuredCriterion measured;
  const double confidence = criterion.confidence.value_or(kConfidence);
  for (size_t i = 0; i < criterion.cells.size(); ++i) {
    if (isInfeasible(criterion, criterion.cells[i]))
      measured.cells.emplace_back().estimate = judgeMemory(evidence, criterion.cells[i]);
    else
      measured.cells.push_back(measure(evidence, criterion.cells[i], confidence));
    measured.cells.back().estimate.cell = i;
  }
  if (!criterion.confidence) return measured;
  if (evidence.with_earlier) {
    const MeasuredCriterion whole = measureCriterion(*evidence.with_earlier, criterion);
    measured.standing = whole.standing;
    measured.others = whole.others;
  } else {
    stand(evidence, criterion, measured);
  }
  for (MeasuredCell& cell : measured.cells) {
    const plan::Cell& planned = criterion.cells[cell.estimate.cell];
    const Standing& standing = measured.of(planned.kind);
    if (standing.only() || isSeen(criterion, planned)) continue;
    // A part has none of the values that earlier looks saw.
    if (!evidence.with_earlier) addEarlierLooks(evidence, criterion, standing, cell);
    readAt(evidence.index.plan(), planned, 1 - confidence, standing.levels, cell);
  }
  return measured;
}

Decision decideCriterion(const Criterion& criterion, const MeasuredCriterion& measured) {
  std::vector<Evidences> evidences;
  for (const MeasuredCell& cell : measured.cells) {
    const plan::Cell& planned = criterion.cells[cell.estimate.cell];
    evidences.push_back(evidenceOf(criterion, boundOf(criterion, planned), measured.of(planned.kind).levels, cell));
  }
  Decision decision = decide(criterion.claim, evidences, 1 - criterion.confidence.value_or(kConfidence));
  for (size_t i = 0; i < measured.cells.size(); ++i)
    decision.cells[i] = isInfeasible(criterion, criterion.cells[measured.cells[i].estimate.cell])
                            ? measured.cells[i].estimate.verdict
                            : cellVerdict(measured.cells[i], decision.cells[i]);
  std::vector<bool> idle(measured.cells.size(), true);
  markIdle(criterion.claim, evidences, false, idle);
  decision.verdict = overall(measured.cells, decision.cells, idle, decision.verdict);
  return decision;
}

CriterionResult judgeCriterion(const Evidence& evidence, const Criterion& criterion) {
  CriterionResult result;
  result.name = criterion.name;
  result.every_trial = !criterion.confidence && !criterion.infeasible;
  if (criterion.not_asked || criterion.cells.empty()) {
    result.verdict = Verdict::NotAsked;
    result.why = plan::because({plan::Reason::NotAsked});
    return result;
  }
  MeasuredCriterion measured = measureCriterion(evidence, criterion);
  const Decision decision = decideCriterion(criterion, measured);
  std::vector<MeasuredCell>& cells = measured.cells;
  const auto looks = std::ranges::find_if(measured.others, [](const auto& one) { return !one.second.only(); });
  if (!measured.standing.only() || looks != measured.others.end()) {
    result.look = measured.standing.only() ? looks->second.look : measured.standing.look;
    result.look->decided_at = decidedAt(criterion, measured, decision.verdict);
  }
  result.other_looks = measured.standing.look.other_versions;
  for (size_t i = 0; i < cells.size(); ++i) cells[i].estimate.verdict = decision.cells[i];
  result.verdict = decision.verdict;
  if (criterion.confidence) showDeciding(evidence.index.plan(), criterion, decision.levels, measured);
  result.scope = scopeOf(criterion, cells);
  result.provisional = criterion.confidence && (result.verdict == Verdict::Pass || result.verdict == Verdict::Fail) &&
                       std::ranges::any_of(cells, [](const MeasuredCell& cell) { return cell.estimate.unfinished; });
  for (MeasuredCell& cell : cells) result.cells.push_back(std::move(cell.estimate));
  if (criterion.infeasible) result.scope = scopeOfMemory(result);
  result.conditions = conditionsOf(evidence.index, criterion, result);
  return result;
}

}  // namespace expc::judge
