// The scheduler: which trial, block or pause comes next in a lane; the seeds and the random order of blocks; the
// forecast; and the texts about missing trials. The index says what has ended, judge::nextBlock what is missing.

#include "runtime/engine/scheduler.h"

#include <algorithm>
#include <utility>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/split_mix.h"
#include "runtime/base/text.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/needs.h"
#include "runtime/plan/command.h"

namespace expc::engine {
namespace {

using judge::Index;

/// Kinds of the plan in the order they run: timed first.
std::vector<TrialKind> kindsInOrder(const Plan& plan) {
  std::vector<TrialKind> kinds;
  for (TrialKind kind : {TrialKind::Timed, TrialKind::Quality, TrialKind::Profile})
    if (plan::designOf(plan, kind)) kinds.push_back(kind);
  return kinds;
}

/// Upper bound on the number of points that a message lists.
constexpr size_t kNamedPlaces = 3;

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "18 of 33 trials failed, 2 timed out"; "" if all ended well.
std::string endsText(const judge::Tally& tally) {
  std::string text;
  const auto add = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    text += text.empty() ? fmt::format("{} of {} {}", count, base::counted(tally.trials, "trial"), what)
                         : fmt::format(", {} {}", count, what);
  };
  add(tally.failed, "failed");
  add(tally.timeouts, "timed out");
  add(tally.infeasible, "ran out of memory");
  add(tally.invalid, "were disturbed");
  return text;
}

/// "timed n=3 has 0 of 6 (no licence server)".
std::string lackText(const Index& index, TrialKind kind, unsigned number, unsigned repeat) {
  const judge::PlaceOutcomes& outcomes = index.of(kind, number);
  // Reasons may have many lines, such as the end of a log.
  return fmt::format("{} {} has {} of {}{}", toString(kind), judge::placeLabel(index, index.place(number)),
                     outcomes.ended, repeat, base::framed(" (", firstLine(outcomes.last_reason), ")"));
}

}  // namespace

uint64_t blockSeed(uint64_t design_seed, const std::string& study, TrialKind kind, uint64_t number) {
  std::string hash =
      base::shortHash(fmt::format("block {} {} {} {}", design_seed, plan::toString(kind), number, study));
  // The hash has 64 bits; 53 stay (see the header).
  return std::stoull(hash, nullptr, 16) >> 11;
}

uint64_t trialSeed(const Plan& plan, uint64_t block_seed) {
  // 53 bits less 22 are 31. Built-in workloads of such a plan get the short seed, too, since a block has one seed for
  // all its trials.
  return plan.hasCommands() ? block_seed >> 22 : block_seed;
}

std::vector<Place> blockOrder(std::vector<Place> places, uint64_t block_seed, const Plan& plan) {
  // Uniform below `bound` by rejection: values above the largest multiple of `bound` would favour small remainders.
  const auto below = [&](uint64_t bound) {
    uint64_t limit = UINT64_MAX - UINT64_MAX % bound, value = base::splitMix(block_seed);
    while (value >= limit) value = base::splitMix(block_seed);
    return value % bound;
  };
  const auto shuffle = [&](auto& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  };
  shuffle(places);
  if (!plan.hasServices() || plan.design.restart == plan::Restart::Trial) return places;
  std::map<std::string, std::string> instance_of;  // by point
  for (const Place& place : places)
    if (const Point* point = plan.findPoint(place.point)) instance_of[place.point] = plan::instancesOf(plan, *point);
  std::set<std::string> all;
  for (const auto& [point, instance] : instance_of) all.insert(instance);
  std::vector<std::string> instances(all.begin(), all.end());
  shuffle(instances);
  std::ranges::stable_sort(places, {}, [&](const Place& place) {
    return std::ranges::find(instances, instance_of[place.point]) - instances.begin();
  });
  return places;
}

bool needsTrials(const judge::Index& index) {
  const auto kinds = kindsInOrder(index.plan());
  return std::ranges::any_of(kinds, [&](TrialKind kind) { return !judge::nextBlock(index, kind).empty(); });
}

Scheduler::Scheduler(const judge::Index& index, unsigned lanes, unsigned attempts)
    : index_(index), attempts_(std::max(1u, attempts)), lanes_(lanes) {}

void Scheduler::count(Tried& tried, const Trial& trial) {
  // Attempts are numbered in the store, so the largest number is the count, also if an earlier run was cut off.
  tried.attempts = std::max(tried.attempts, trial.attempt);
  tried.failed += trial.status == TrialStatus::Failed;
  tried.invalid += trial.status == TrialStatus::Invalid;
  tried.over |= store::hasResult(trial.status);
}

std::vector<Scheduler::Tried> Scheduler::triedOf(const store::BlockPlan& block,
                                                 const std::vector<Trial>& before) const {
  std::vector<Tried> tried(block.places.size());
  for (const Trial& trial : before)
    // The store may be of a stranger, so positions are checked.
    if (trial.position < tried.size()) count(tried[trial.position], trial);
  return tried;
}

bool Scheduler::isOver(const store::BlockPlan& block, unsigned position, const Tried& tried) const {
  // Failures and disturbances have limits of their own: a failing program is not tried longer on a noisy machine.
  if (tried.over || tried.failed >= attempts_ || tried.invalid >= index_.plan().design.validity.attempts) return true;
  // A continued block may hold places that the study has dropped since, and a point may have been given up meanwhile.
  const auto number = index_.number(block.places[position]);
  return !number || !index_.asked(block.block.kind, *number) || index_.givenUp(block.block.kind, *number);
}

bool Scheduler::isOpen(const store::BlockPlan& block, const std::vector<Trial>& before) const {
  const std::vector<Tried> tried = triedOf(block, before);
  for (unsigned position = 0; position < tried.size(); ++position)
    if (!isOver(block, position, tried[position])) return true;
  return false;
}

void Scheduler::begin(unsigned lane, store::BlockPlan block, const std::vector<Trial>& before) {
  lanes_[lane].tried = triedOf(block, before);
  lanes_[lane].block = std::move(block);
  lanes_[lane].position = 0;
}

void Scheduler::ended(unsigned lane, const Trial& trial) {
  if (trial.position < lanes_[lane].tried.size()) count(lanes_[lane].tried[trial.position], trial);
}

const store::BlockPlan* Scheduler::block(unsigned lane) const {
  return lanes_[lane].block ? &*lanes_[lane].block : nullptr;
}

Step Scheduler::next(unsigned lane) {
  Lane& own = lanes_[lane];
  if (!own.block) return nextBlock();
  Step step;
  step.kind = own.block->block.kind;
  // The position moves on only past places that are over, so a failed place is tried again before the next one runs.
  while (own.position < own.tried.size() && isOver(*own.block, own.position, own.tried[own.position])) ++own.position;
  // The block is forgotten here, so BlockOver is told once.
  if (own.position == own.tried.size()) {
    own.block.reset();
    step.what = Step::BlockOver;
    return step;
  }
  step.what = Step::Trial;
  step.position = own.position;
  step.place = own.block->places[own.position];
  step.attempt = own.tried[own.position].attempts + 1;
  return step;
}

Step Scheduler::nextBlock() const {
  Step step;
  for (const TrialKind kind : kindsInOrder(index_.plan())) {
    // Blocks of other lanes count as if each of their trials ends well, so that two lanes do not make up for the same
    // loss.
    std::vector<judge::BlockUnderWay> under_way;
    for (const Lane& lane : lanes_)
      if (lane.block && lane.block->block.kind == kind) under_way.push_back({lane.block->block.id, lane.block->places});
    step.kind = kind;
    if (!closed_.count(kind)) step.places = judge::nextBlock(index_, kind, under_way);
    // Trials under way may fail and need another block of this kind. Kinds do not mix, so the next kind waits, too.
    if (step.places.empty() && under_way.empty()) continue;
    step.what = step.places.empty() ? Step::Wait : Step::Block;
    return step;
  }
  return step;
}

void Forecast::renew() {
  for (const KindDesign& design : index_.plan().design.kinds)
    left_[design.kind] = {judge::remaining(index_, design.kind).trials, index_.typicalSeconds(design.kind)};
}

void Forecast::placeOver(TrialKind kind) {
  Left& left = left_[kind];
  if (left.trials > 0) --left.trials;
}

void Forecast::fill(TrialNote& note, unsigned done, bool over) const {
  uint64_t trials = 0;
  double seconds = 0;
  bool known = false;
  // A kind without any duration yet cannot be forecast. It is named instead, so that the time shown is not taken for
  // all.
  for (const auto& [kind, left] : left_) {
    trials += left.trials;
    if (left.trials == 0) continue;
    known |= left.seconds_each.has_value();
    if (!left.seconds_each)
      note.untimed += (note.untimed.empty() ? "" : " and ") +
                      base::counted(left.trials, fmt::format("{} trial", plan::toString(kind)));
    seconds += left.seconds_each.value_or(0) * double(left.trials);
  }
  note.done = done;
  // At least the trial itself: a trial that makes up for a lost one was not counted before.
  note.expected = done + unsigned(std::max<uint64_t>(1, trials + over));
  if (known) note.remaining_seconds = seconds / lanes_;
}

std::string failureText(const Index& index, const judge::Failure& failure) {
  return fmt::format("{} {}: {}", toString(failure.kind), judge::placeLabel(index, failure.place),
                     firstLine(failure.reason));
}

std::string endedAtLookText(const Index& index) {
  const KindDesign* design = judge::endedAtLook(index);
  if (!design) return "";
  return fmt::format("stopped early: every criterion was decided at the look after {} of {} {} blocks",
                     judge::repetitionsAsked(index, *design), design->repeat, toString(design->kind));
}

std::string storedText(const Index& index) {
  uint64_t ended = 0;
  for (const KindDesign& design : index.plan().design.kinds) ended += judge::remaining(index, design.kind).stored;
  const uint64_t timeouts = ended - std::min(ended, index.tally().valid);
  return fmt::format("all {} trials are stored{}", ended,
                     timeouts ? fmt::format(", {} of them timed out", timeouts) : "");
}

std::string shortfallText(const Index& index) {
  if (!judge::lacksTrials(index)) return "";
  std::vector<std::string> lacks;
  // Points that have fewer trials than asked; places that nobody asks for (infeasible, given up) are not counted.
  for (const KindDesign& design : index.plan().design.kinds) {
    const unsigned asked = judge::repetitionsAsked(index, design);
    for (unsigned number = 0; number < index.places(); ++number)
      if (index.starts(number) == number && index.asked(design.kind, number) &&
          index.of(design.kind, number).ended < asked)
        lacks.push_back(lackText(index, design.kind, number, asked));
  }
  std::string text = endsText(index.tally());
  // Each point has its trials, but in blocks that lack the other point of a pair.
  if (lacks.empty()) lacks.emplace_back("some pairs are incomplete");
  for (size_t i = 0; i < lacks.size() && i < kNamedPlaces; ++i)
    text += (i > 0 ? ", " : text.empty() ? "" : "; ") + lacks[i];
  return lacks.size() > kNamedPlaces ? text + fmt::format(" and {} more", lacks.size() - kNamedPlaces) : text;
}

}  // namespace expc::engine
