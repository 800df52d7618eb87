#include "runtime/judge/needs.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <set>

#include "runtime/base/find.h"
#include "runtime/judge/criteria.h"

namespace expc::judge {
namespace {

unsigned shortOf(unsigned target, unsigned have) { return target > have ? target - have : 0; }

bool adapts(const KindDesign& design) { return design.most() > design.repeat; }

struct Count {
  unsigned ended = 0, tried = 0;
};
/// Counts of ended and tried trials by the numbers of places and groups, blocks under way included.
struct Progress {
  std::vector<Count> places, groups;
};

Progress progressOf(const Index& index, TrialKind kind, std::span<const BlockUnderWay> under_way = {}) {
  const std::vector<Group>& groups = index.groups(kind);
  Progress progress;
  for (unsigned number = 0; number < index.places(); ++number)
    progress.places.push_back({index.of(kind, number).ended, index.of(kind, number).tried});
  for (const Group& group : groups) progress.groups.push_back({group.complete, group.tried});
  // A block under way counts with what it will have if its remaining trials end well.
  for (const BlockUnderWay& block : under_way) {
    std::set<unsigned> numbers;
    for (const Place& place : block.places)
      if (const std::optional<unsigned> number = index.number(place)) {
        numbers.insert(*number);
        numbers.insert(index.rowsOf(*number).begin(), index.rowsOf(*number).end());
      }
    const auto count = [&](Count& of, const std::vector<unsigned>& members) {
      const auto all = [&](auto holds) {
        return std::ranges::all_of(members, [&](unsigned member) { return holds(index.of(kind, member)); });
      };
      const auto fits = [&](const PlaceOutcomes& place) { return !place.anyIn(block.block, &Outcome::infeasible); };
      of.ended += all(fits) && !all([&](const auto& place) { return place.anyIn(block.block, &Outcome::ended); });
      of.tried += !all([&](const auto& place) { return place.triedIn(block.block); });
    };
    for (const unsigned number : numbers) count(progress.places[number], {number});
    for (size_t i = 0; i < groups.size(); ++i)
      if (std::ranges::includes(numbers, groups[i].places)) count(progress.groups[i], groups[i].places);
  }
  return progress;
}

/// The number of further blocks that each place needs.
using Deficits = std::vector<unsigned>;

unsigned largest(const Deficits& deficits) { return deficits.empty() ? 0 : *std::ranges::max_element(deficits); }

/// A place that is read in pairs alone needs nothing more once each of its pairs has a member that was given up.
void leavePartners(const Index& index, TrialKind kind, Deficits& need) {
  std::vector<bool> paired(index.places()), alive(index.places());
  for (const Group& group : index.groups(kind)) {
    const bool over = std::ranges::any_of(group.places, [&](unsigned member) { return index.givenUp(kind, member); });
    for (const unsigned member : group.places) paired[member] = true, alive[member] = alive[member] || !over;
  }
  for (const Criterion& criterion : index.plan().criteria)
    for (const plan::Cell& cell : criterion.cells)
      if (const auto number = cell.points.size() == 1 ? index.number(cell.points[0]) : std::nullopt)
        alive[*number] = true;
  for (unsigned number = 0; number < need.size(); ++number)
    if (paired[number] && !alive[number]) need[number] = 0;
}

/// For a number of repetitions. Without `most`: also of what was given up, however often it was tried.
Deficits deficitsAt(const Index& index, TrialKind kind, const Progress& progress, unsigned repeat,
                    std::optional<unsigned> most) {
  const auto lacking = [&](const Count& count) {
    const unsigned need = shortOf(repeat, count.ended);
    return most ? std::min(need, shortOf(*most, count.tried)) : need;
  };
  const auto possible = [&](unsigned number) {
    return index.asked(kind, number) && (!most || !index.givenUp(kind, number));
  };
  Deficits need(index.places());
  for (unsigned number = 0; number < index.places(); ++number)
    if (possible(number)) need[number] = lacking(progress.places[number]);
  const std::vector<Group>& groups = index.groups(kind);
  for (size_t i = 0; i < groups.size(); ++i) {
    const std::vector<unsigned>& members = groups[i].places;
    const unsigned deficit = std::ranges::all_of(members, possible) ? lacking(progress.groups[i]) : 0;
    for (const unsigned member : members) need[member] = std::max(need[member], deficit);
  }
  if (most) leavePartners(index, kind, need);
  // A process runs as often as any of its points needs it.
  for (unsigned number = 0; number < need.size(); ++number) {
    if (index.rowsOf(number).empty()) continue;
    need[number] = 0;
    for (const unsigned row : index.rowsOf(number)) need[number] = std::max(need[number], need[row]);
  }
  return need;
}

/// The most blocks that may be tried for `repeat` repetitions: half as many again, but where they adapt no more than
/// the most.
unsigned mostTried(const KindDesign& design, unsigned repeat) {
  const unsigned most = repeat + (repeat + 1) / 2;
  return adapts(design) ? std::min(most, design.most()) : most;
}

/// The deficits that count now: at `repeat`; where all is there and an `until` is not met, at more.
Deficits deficitsNow(const Index& index, const KindDesign& design, const Progress& progress) {
  const auto at = [&](unsigned repeat) {
    return deficitsAt(index, design.kind, progress, repeat, mostTried(design, repeat));
  };
  Deficits deficits = at(repetitionsAsked(index, design));
  if (largest(deficits) > 0 || !adapts(design)) return deficits;
  if (looksAtWidths(index, design.kind)) {
    const std::vector<UntilState> states = untilStates(index, design.kind);
    if (std::ranges::all_of(states, &UntilState::over)) return deficits;
  }
  // The fewest repetitions that lack something: what is lacking only grows with them.
  unsigned low = design.repeat, high = design.most();
  if (largest(at(high)) == 0) return deficits;
  while (high - low > 1) {
    const unsigned middle = low + (high - low) / 2;
    (largest(at(middle)) > 0 ? high : low) = middle;
  }
  return at(high);
}

/// Whether every criterion of the kind is decided. Nothing here asks for further trials.
bool allDecided(const Index& index, TrialKind kind) {
  const Evidence evidence{index, {}};
  Judgement judgement;
  // Verdicts alone: what comes next is not asked, and takes longest.
  for (const Criterion& criterion : index.plan().criteria) {
    CriterionResult& result = judgement.criteria.emplace_back();
    result.name = criterion.name;
    if (isLookedAt(criterion, kind))
      result.verdict = decideCriterion(criterion, measureCriterion(evidence, criterion)).verdict;
  }
  judgeControls(evidence, judgement);
  return lookDecides(index.plan(), kind, judgement.criteria);
}

/// How many blocks each place still runs in, by number: where repetitions adapt all places go on together.
Deficits wanted(const Index& index, const KindDesign& design, const Progress& progress) {
  Deficits need = deficitsNow(index, design, progress);
  const unsigned blocks = largest(need);
  for (unsigned number = 0; adapts(design) && blocks > 0 && number < index.places(); ++number)
    if (index.asked(design.kind, number) && !index.givenUp(design.kind, number))
      need[number] = std::max(need[number], std::min(blocks, shortOf(design.most(), progress.places[number].tried)));
  return need;
}

/// The half-width of a cell's interval in the sense of `until`; nothing while there is no interval.
std::optional<double> halfWidth(const MeasuredCell& cell, bool relative) {
  const CellEstimate& estimate = cell.estimate;
  if (!estimate.estimate || !estimate.interval) return std::nullopt;
  const double width =
      std::max(*estimate.estimate - estimate.interval->low, estimate.interval->high - *estimate.estimate);
  if (!relative) return width;
  if (*estimate.estimate == 0) return width == 0 ? std::optional<double>(0) : std::nullopt;
  return width / std::abs(*estimate.estimate);
}

/// The cells whose intervals an `until` speaks of, with the factors of their levels.
std::pair<std::vector<plan::Cell>, std::vector<std::string>> subjectCells(const Plan& plan,
                                                                          const std::string& subject) {
  if (const Comparison* comparison = base::named(plan.comparisons, subject))
    return {comparison->cells, comparison->factors};
  std::vector<plan::Cell> cells;
  std::vector<std::string> factors;
  for (const plan::Factor& factor : plan.factors) factors.push_back(factor.name);
  const Metric* metric = plan.findMetric(subject);
  for (const Point& point : plan.points) {
    if (!metric) break;
    if (!plan.tells(*metric, point)) continue;
    plan::Cell cell = cellOf(*metric, point.id);
    cell.levels = point.levels;
    cells.push_back(std::move(cell));
  }
  return {std::move(cells), std::move(factors)};
}

/// Whether further blocks could give the cell the interval that it lacks.
bool canGoOn(const Index& index, const plan::Cell& cell, unsigned tried, unsigned most) {
  return tried < most && std::ranges::all_of(
                             cell.points,
                             [&](const Place& place) {
                               const std::optional<unsigned> number = index.number(place);
                               return number && index.asked(cell.kind, *number) && !index.givenUp(cell.kind, *number);
                             });
}

/// Sets `widest`, `where`, `blocks`, `met` and `over`.
void measureUntil(const Evidence& evidence, UntilState& state) {
  const auto [cells, factors] = subjectCells(evidence.index.plan(), state.until.subject);
  std::optional<double> widest;
  bool all_known = true;
  for (const plan::Cell& cell : cells) {
    if (cell.kind != state.kind) continue;
    const MeasuredCell measured = measure(evidence, cell, kConfidence);
    const Scope& scope = measured.estimate.scope;
    state.blocks = std::max(state.blocks, scope.complete);
    if (measured.estimate.state != CellState::Measured && measured.estimate.state != CellState::Lost &&
        measured.estimate.state != CellState::Broken)  // until it is given up
      continue;
    const std::optional<double> width = halfWidth(measured, state.until.relative);
    if (!width && !canGoOn(evidence.index, cell, scope.complete + scope.lost, state.most)) continue;
    if (!all_known || (width && widest && *width < *widest)) continue;
    state.where = cellLabel(evidence.index.plan(), factors, cell);
    all_known = width.has_value();
    widest = width;
  }
  state.widest = widest;
  state.met = widest && *widest <= state.until.half_width;
  state.over = state.met || (!widest && all_known);
}

}  // namespace

std::vector<UntilState> untilStates(const Index& index, TrialKind kind) {
  std::optional<std::vector<UntilState>>& known = index.widths_[size_t(kind)];
  if (known) return *known;
  std::vector<UntilState> states;
  const Evidence evidence{index, {}};
  const KindDesign* design = plan::designOf(index.plan(), kind);
  for (const plan::Until& until : design ? design->until : std::vector<plan::Until>()) {
    UntilState& state = states.emplace_back();
    state.kind = kind;
    state.until = until;
    state.most = design->most();
    measureUntil(evidence, state);
  }
  known = states;
  return states;
}

bool looksAtWidths(const Index& index, TrialKind kind) {
  unsigned repetitions = 0;
  for (unsigned number = 0; number < index.places(); ++number)
    repetitions = std::max(repetitions, index.of(kind, number).ended);
  return repetitions < 128 || repetitions % std::bit_floor(repetitions / 64) == 0;
}

std::vector<Place> nextBlock(const Index& index, TrialKind kind, std::span<const BlockUnderWay> under_way) {
  const KindDesign* design = plan::designOf(index.plan(), kind);
  std::vector<Place> places;
  if (!design) return places;
  const Deficits blocks = wanted(index, *design, progressOf(index, kind, under_way));
  for (unsigned number = 0; number < blocks.size(); ++number)
    if (blocks[number] > 0 && index.starts(number) == number) places.push_back(index.place(number));
  return places;
}

Remaining remaining(const Index& index, TrialKind kind) {
  const KindDesign* design = plan::designOf(index.plan(), kind);
  Remaining left;
  if (!design) return left;
  const Deficits wanting = wanted(index, *design, progressOf(index, kind));
  for (unsigned number = 0; number < wanting.size(); ++number) {
    left.blocks = std::max(left.blocks, wanting[number]);
    if (index.starts(number) != number) continue;
    const unsigned ended = index.of(kind, number).ended;
    left.trials += wanting[number];
    left.stored += ended;
    if (!adapts(*design)) left.again += std::min(wanting[number], shortOf(ended + wanting[number], design->repeat));
  }
  return left;
}

unsigned repetitionsAsked(const Index& index, const KindDesign& design) {
  for (const unsigned look : design.looks) {
    const Progress progress = progressOf(index, design.kind);
    if (largest(deficitsAt(index, design.kind, progress, look, mostTried(design, look))) > 0) return look;
    const bool passed = fewestRepetitions(index, design.kind) > look;
    if (!passed && index.decided(design.kind, [&] { return allDecided(index, design.kind); })) return look;
  }
  return design.repeat;
}

const KindDesign* endedAtLook(const Index& index) {
  for (const KindDesign& design : index.plan().design.kinds)
    if (repetitionsAsked(index, design) < design.repeat && nextBlock(index, design.kind).empty()) return &design;
  return nullptr;
}

Evidence gather(const Index& index) {
  Evidence evidence{index, {}};
  for (const KindDesign& design : index.plan().design.kinds) {
    std::vector<bool>& wanted = evidence.wanted[size_t(design.kind)];
    wanted.resize(index.places());
    for (const Place& place : nextBlock(index, design.kind)) {
      const unsigned number = *index.number(place);
      wanted[number] = true;
      for (const unsigned row : index.rowsOf(number)) wanted[row] = true;
    }
  }
  return evidence;
}

unsigned fewestRepetitions(const Index& index, TrialKind kind) {
  unsigned fewest = UINT_MAX;
  const auto possible = [&](unsigned number) { return index.asked(kind, number) && !index.givenUp(kind, number); };
  for (unsigned number = 0; number < index.places(); ++number)
    if (possible(number)) fewest = std::min(fewest, index.of(kind, number).ended);
  for (const Group& group : index.groups(kind))
    if (std::ranges::all_of(group.places, possible)) fewest = std::min(fewest, group.complete);
  return fewest == UINT_MAX ? 0 : fewest;
}

bool lacksTrials(const Index& index) {
  const auto& kinds = index.plan().design.kinds;
  return std::ranges::any_of(kinds, [&](const KindDesign& design) {
    const Progress progress = progressOf(index, design.kind);
    return largest(deficitsAt(index, design.kind, progress, repetitionsAsked(index, design), std::nullopt)) > 0;
  });
}

}  // namespace expc::judge
