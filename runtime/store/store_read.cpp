// The reading half of Store: finds the runs of a plan's study, loads the trials that count for the plan, and says
// why others do not. match.cpp has the rule for one trial; this file adds what needs the whole store: the run that
// started a trial, seeds that repeat, and looks. Judging the results is left to judge.

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/base/entry.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

/// The plan of a run; nothing if it cannot be read any more (it is older than the reader, or damaged).
std::optional<Plan> planOf(const Run& run, const Contents& contents) {
  auto value = parseJson(contents.plans.at(run.plan_json));
  return expectedToOptional(value ? plan::planFromJson(*value) : Expected<Plan>(value.takeError()));
}

/// Whether a run recorded everything about what it judged; runs of older versions did not.
bool saysAll(const RunClaimsPtr& judged) {
  return judged &&
         std::ranges::all_of(judged->planned, [](const auto& kind) { return kind.second.adaptive.has_value(); });
}

/// A run's judgement, completed by its plan in what older versions did not record.
RunClaimsPtr completed(const RunClaimsPtr& judged, const RunClaimsPtr& of_plan) {
  if (!judged || !of_plan) return judged ? judged : of_plan;
  RunClaims all = *judged;
  for (auto& [kind, planned] : all.planned)
    if (const auto* found = entryOf(of_plan->planned, kind); found && !planned.adaptive)
      planned.adaptive = found->adaptive;
  return std::make_shared<const RunClaims>(std::move(all));
}

/// All runs as looks, whatever their study: the reader decides which of their trials count. The plan of a run
/// completes what its end does not say (an older expc, or a killed run); plans are parsed once each, since they are
/// large.
std::vector<PastLook> looksIn(const Contents& contents) {
  std::map<std::string, RunClaimsPtr> by_plan;
  std::vector<PastLook> looks;
  for (const auto& [id, run] : contents.runs) {
    RunClaimsPtr judged = run.judged;
    if (!saysAll(judged)) {
      const auto [of_plan, fresh] = by_plan.try_emplace(run.plan_json);
      const auto plan = fresh ? planOf(run, contents) : std::nullopt;
      if (plan) of_plan->second = claimsOf(*plan);
      judged = completed(judged, of_plan->second);
    }
    const Outcome outcome = run.outcome.value_or(Outcome{Outcome::Killed});
    looks.push_back({id, outcome.saidVerdicts(), outcome.kind == Outcome::AtLook, std::move(judged)});
  }
  return looks;
}

/// Subjects of the current plan's claims that `run` judged with another version of the program: a raised version of
/// a workload (whose points have other ids), or other files. `then` is the plan of that run.
std::set<std::string> otherPrograms(const Plan& now, const Match& match, const Plan& then, const Run& run,
                                    const RunClaims& judged) {
  // Ids differ between versions, so points are matched by workload and label.
  std::map<std::pair<std::string, std::string>, const Point*> known;  // by workload and label
  for (const Point& point : then.points) known[{then.workloads[point.workload].name, then.label(point)}] = &point;
  std::map<std::string, std::string> ids;  // ids in `then`, by ids in `now`
  std::set<std::string> other;
  for (const Point& point : now.points) {
    const plan::Workload& workload = now.workloads[point.workload];
    const Point* was = valueIn(known, std::pair(workload.name, now.label(point))).value_or(nullptr);
    // Another study may use another version of the workload at the same time, so only a version that was raised in
    // this study counts.
    const bool raised = was && run.study == now.study && then.workloads[was->workload].version != workload.version;
    if (!was || (!raised && was->id != point.id)) continue;
    ids[point.id] = was->id;
    const std::string& started = now.startedFor(point).id;
    const auto data = [&](const Match& of) { return keyOf(now, started, TrialKind::Timed, of).data; };
    if (raised || data(match) != data(run.match)) other.insert(point.id);
  }
  std::set<std::string> subjects;
  for (const Criterion& criterion : now.criteria) {
    for (const plan::Cell& cell : criterion.cells)
      if (plan::isEstimated(criterion, cell) &&
          std::ranges::any_of(cell.points, [&](const Place& place) { return other.contains(place.point); }) &&
          judged.subjects.contains(plan::subjectOf(now, cell, ids)))
        subjects.insert(plan::subjectOf(now, cell));
  }
  return subjects;
}

/// Compares how trials were started with how the plan would start them now. Plans and texts are cached, since a
/// store has many trials of few runs.
class Runs {
 public:
  Runs(const Contents& contents, const Plan& plan) : now_(plan), contents_(contents) {}

  /// The reason why the plan would not start this trial at its point; "" also if the run's plan cannot be read, so
  /// that only the key is known.
  std::string objection(const Trial& trial) {
    const Plan* then = planThen(trial.run);
    const auto* was = then ? startedAt(*then, trial.place().point) : nullptr;
    const auto* is = was ? startedAt(now_, trial.place().point) : nullptr;
    if (!is || *was == *is) return "";
    const auto named = [](const std::vector<std::string>& texts) {
      std::map<std::string, std::string> names;
      for (const std::string& text : texts) names[text];
      return names;
    };
    const std::string how = changes(named(*was), named(*is), false);
    return "started otherwise: " + (how.empty() ? "the block was started in another order" : how);
  }
  /// Names the differences between the trial's point and the plan's, behind a colon; "" if they are unknown.
  std::string moved(const Trial& trial) {
    const Plan* then = planThen(trial.run);
    const Point* was = then ? then->findPoint(trial.place().point) : nullptr;
    if (!was) return "";
    const auto [text, fresh] = moved_.try_emplace(was);
    if (fresh) text->second = otherPoint(*then, *was, now_, labelled(then->label(*was)));
    return base::framed(": ", text->second);
  }
  /// The match of a run; null if the run is not known.
  const Match* match(int64_t run) const {
    const Run* found = entryOf(contents_.runs, run);
    return found ? &found->match : nullptr;
  }

  /// The plan of a run; null if it is not known, or cannot be read any more.
  const Plan* planThen(int64_t number) {
    const Run* run = entryOf(contents_.runs, number);
    if (!run) return nullptr;
    const auto [then, unread] = plans_.try_emplace(run->plan_json);
    if (unread) then->second = planOf(*run, contents_);
    return then->second ? &*then->second : nullptr;
  }

 private:
  /// Returns the first point of the plan with this label, or null. Labels are made once, since a plan may have very
  /// many points.
  const Point* labelled(const std::string& label) {
    if (labels_.empty())
      for (const Point& point : now_.points) labels_.try_emplace(now_.label(point), &point);
    return valueIn(labels_, label).value_or(nullptr);
  }

  /// The texts that start a point (startedWith), computed on demand, since a plan may have very many points. Null
  /// for a point that the plan does not have.
  const std::vector<std::string>* startedAt(const Plan& plan, const std::string& id) {
    const Point* point = plan.findPoint(id);
    if (!point) return nullptr;
    const auto [texts, fresh] = texts_.try_emplace(point);
    if (fresh) texts->second = startedWith(plan, *point);
    return &texts->second;
  }

  const Plan& now_;
  const Contents& contents_;
  std::unordered_map<std::string_view, std::optional<Plan>> plans_;  // by their hash
  std::unordered_map<const Point*, std::vector<std::string>> texts_;
  std::unordered_map<const Point*, std::string> moved_;
  std::unordered_map<std::string, const Point*> labels_;
};

/// One line of Results::not_counted_reasons.
std::string notCounted(uint64_t count, const std::string& why) { return base::counted(count, "trial") + ": " + why; }

/// Selects the trials that count for one plan, and counts the others by reason; without a match all that ended are
/// taken.
class Loader {
 public:
  using Keep = std::function<bool(const Trial&)>;

  /// Loads the results that count; `keep`, if given, restricts them further.
  Loader(const Contents& contents, const Plan& plan, const Match* match, Keep keep = nullptr)
      : keep_(std::move(keep)),
        contents_(contents),
        plan_(plan),
        match_(match ? *match : none_),
        all_(match == nullptr),
        counting_(plan, match_),
        runs_(contents, plan) {
    std::unordered_set<std::string_view> points;
    for (const Point* started : plan.started()) points.insert(started->id);
    for (const auto& [id, trial] : contents.trials)
      if (isOver(trial) && points.contains(trial.place().point)) consider(trial);
  }

  /// Whether a trial has a result. Interrupted trials have none.
  static bool isOver(const Trial& trial) {
    return trial.status != TrialStatus::Running && trial.status != TrialStatus::Interrupted;
  }

  std::vector<Trial> trials() { return std::move(results_.trials); }

  Results take() {
    leaveOutRepeatedSeeds();
    std::set<int64_t> blocks, sessions;
    for (const Trial& trial : results_.trials) {
      blocks.insert(trial.block);
      sessions.insert(trial.session);
    }
    for (const int64_t id : blocks) results_.blocks.push_back(contents_.blocks.at(id).block);
    for (const int64_t id : sessions) results_.sessions.push_back(contents_.sessions.at(id));
    results_.looks = looksIn(contents_);
    findOtherPrograms();
    // These points have no trials, but the study's name has some: say why, since that looks like lost results.
    if (results_.trials.empty() && objections_.empty())
      for (const auto& [id, trial] : contents_.trials)
        if (isElsewhere(trial))
          object(fmt::format("measured at points that the study no longer has{}", runs_.moved(trial)));
    for (const auto& [why, count] : objections_) results_.not_counted_reasons.push_back(notCounted(count, why));
    return std::move(results_);
  }

 private:
  /// Whether the trial ended in a study of this name, at a point that the plan does not have.
  bool isElsewhere(const Trial& trial) const {
    return isOver(trial) && contents_.blocks.at(trial.block).block.study == plan_.study &&
           !plan_.findPoint(trial.place().point) && (!keep_ || keep_(trial));
  }

  /// Marks looks at the plan's claims that were made with another version of the program. Runs that measured
  /// nothing are left out, since they only repeated a verdict.
  void findOtherPrograms() {
    if (all_) return;
    // Most runs had the same files and versions, and need no closer look.
    const auto same = [&](const Run& run, const Plan& then) {
      return run.match.data_digests == match_.data_digests &&
             std::ranges::equal(then.workloads, plan_.workloads, {}, &plan::Workload::version,
                                &plan::Workload::version);
    };
    std::set<int64_t> measured;
    for (PastLook& look : results_.looks) {
      const Run& run = contents_.runs.at(look.run);
      const Plan* then = look.said && look.judged ? runs_.planThen(look.run) : nullptr;
      if (!then || same(run, *then)) continue;
      if (measured.empty())
        for (const auto& [id, trial] : contents_.trials)
          if (trial.status == TrialStatus::Valid || trial.status == TrialStatus::Timeout) measured.insert(trial.run);
      if (measured.contains(look.run)) look.other_programs = otherPrograms(plan_, match_, *then, run, *look.judged);
    }
  }
  /// Counts a trial that does not count, by reason.
  void object(const std::string& why, uint64_t count = 1) {
    results_.kept_not_counted += count;
    objections_[why] += count;
  }

  /// Takes a trial, or its objection. Objections by key are computed once per key; only their explanation (which
  /// needs the trial's run) is made for each.
  void consider(const Trial& trial) {
    const auto [why, fresh] = of_key_.try_emplace(trial.key.get());
    if (fresh && !all_) why->second = counting_.objection(*trial.key);
    if (!why->second.empty()) return object(counting_.objection(*trial.key, runs_.match(trial.run)));
    if (keep_ && !keep_(trial)) return;
    std::string lacking = runs_.objection(trial);
    if (lacking.empty() && !all_) lacking = counting_.objection(trial);
    if (lacking.empty())
      results_.trials.push_back(trial);
    else
      object(lacking);
  }

  /// Leaves out repeated values. Two blocks with one seed compute the same values, whatever their studies are
  /// called, so only the first block's trials count. Times are measured anew on another machine, so there they
  /// count; but times of the same moment are copies.
  void leaveOutRepeatedSeeds() {
    std::map<std::pair<TrialKind, uint64_t>, std::set<int64_t>> blocks;
    for (const Trial& trial : results_.trials) {
      blocks[{trial.key->kind, contents_.blocks.at(trial.block).block.seed}].insert(trial.block);
    }
    // Nearly always each seed has one block; then nothing is compared.
    if (std::ranges::all_of(blocks, [](const auto& of_seed) { return of_seed.second.size() == 1; })) return;
    std::map<std::tuple<TrialKind, uint64_t, Place, std::string>, int64_t> first;
    const auto firstOf = [&](const Trial& trial, const std::string& when) -> int64_t& {
      const uint64_t seed = contents_.blocks.at(trial.block).block.seed;
      return first.try_emplace({trial.key->kind, seed, trial.place(), when}, trial.block).first->second;
    };
    const auto blocksLike = [&](const Trial& trial) -> std::array<int64_t*, 2> {
      // Times repeat in two ways: on one machine, and at one moment (a copy).
      const bool timed = trial.key->kind == TrialKind::Timed;
      return {&firstOf(trial, timed ? "on " + contents_.sessions.at(trial.session).where.machine() : ""),
              &firstOf(trial, timed ? fmt::format("at {}", trial.started) : "")};
    };
    auto& trials = results_.trials;
    for (const Trial& trial : trials)
      for (int64_t* block : blocksLike(trial)) *block = std::min(*block, trial.block);
    const uint64_t again = std::erase_if(trials, [&](const Trial& trial) {
      return std::ranges::any_of(blocksLike(trial), [&](const int64_t* block) { return *block != trial.block; });
    });
    if (again > 0) object("another block of the same seed counts already", again);
  }

  const Keep keep_;
  const Contents& contents_;
  const Plan& plan_;
  const Match none_;
  const Match& match_;
  const bool all_;
  Counting counting_;
  Runs runs_;
  Results results_;
  std::unordered_map<const TrialKey*, std::string> of_key_;  // by key: why its trials do not count; "" if they may
  std::map<std::string, uint64_t> objections_;
};

/// Whether a run belongs to a part, whatever its machine.
bool isOf(const Part& part, const Run& run) {
  const auto begins = [](const std::string& wanted) {
    return [&wanted](const std::string& text) { return text.starts_with(wanted); };
  };
  return (!part.run || *part.run == run.id) && (!part.since || run.started.wall >= *part.since) &&
         (!part.before || run.started.wall < *part.before) &&
         (!part.build || std::ranges::any_of(run.match.workers(), begins(*part.build), &Worker::build)) &&
         (!part.program || std::ranges::any_of(run.match.data_digests | std::views::values, begins(*part.program)));
}

/// The sessions on one machine, and the runs that have trials in them. A run names the session of only one of its
/// lanes, so trials must be searched.
class Somewhere {
 public:
  Somewhere(const Contents& contents, const std::optional<std::string>& host) {
    if (!host) return;
    sessions_.emplace();
    for (const auto& [id, session] : contents.sessions)
      if (session.where.isOn(*host)) sessions_->insert(id);
    for (const auto& [id, trial] : contents.trials)
      if (has(trial.session)) runs_.insert(trial.run);
  }
  bool has(int64_t session) const { return !sessions_ || sessions_->count(session) != 0; }
  bool has(const Run& run) const { return has(run.session) || runs_.count(run.id) != 0; }

 private:
  std::optional<std::set<int64_t>> sessions_;  // absent: anywhere
  std::set<int64_t> runs_;
};

/// The newest run that `holds` accepts. A run on null cards is taken only if there is no other. Null if there is
/// none.
const Run* newestRun(const Contents& contents, function_ref<bool(const Run&)> holds) {
  const Run* on_null_cards = nullptr;
  for (const auto& [id, run] : std::views::reverse(contents.runs)) {
    if (!holds(run)) continue;
    if (!run.match.onNullCards()) return &run;
    if (!on_null_cards) on_null_cards = &run;
  }
  return on_null_cards;
}

/// Whether a run may say what must agree for a plan: it belongs to the study and executed as many blocks at a time.
/// Blocks that share a machine disturb each other, and the control that shows how much (run.alone) is only in a
/// plan with that number.
class SharesAlike {
 public:
  SharesAlike(const Contents& contents, const Plan& plan) : contents_(contents), plan_(plan) {}

  bool operator()(const Run& run) {
    if (run.study != plan_.study) return false;
    // Equal digests mean equal plans; only others need to be parsed.
    if (!plan_.digest.empty() && run.plan_digest == plan_.digest) return true;
    const auto [known, fresh] = shares_.try_emplace(run.plan_json);
    if (fresh)
      if (const auto then = planOf(run, contents_)) known->second = then->design.share;
    if (known->second.value_or(plan_.design.share) == plan_.design.share) return true;
    if (!other_) other_ = known->second;
    return false;
  }
  /// The number that the first run with another number gave.
  const std::optional<unsigned>& other() const { return other_; }

 private:
  const Contents& contents_;
  const Plan& plan_;
  std::unordered_map<std::string_view, std::optional<unsigned>> shares_;  // by plan; nullopt: cannot be read any more
  std::optional<unsigned> other_;
};

/// The newest run of the plan's study that executed as many blocks at a time. With `null_cards`, only runs on null
/// cards, or only others; without, runs on null cards only if there are no others.
const Run* newestAlike(const Contents& contents, SharesAlike& alike, std::string_view study,
                       std::optional<bool> null_cards) {
  const auto is_of = [&](const Run& run) {
    return run.study == study && run.match.onNullCards() == null_cards.value_or(run.match.onNullCards());
  };
  const Run* newest = newestRun(contents, is_of);
  // If the newest run had another number of blocks at a time, an older one on the same kind of cards may say what
  // must agree.
  if (!newest || alike(*newest)) return newest;
  return newestRun(contents, [&](const Run& run) {
    return is_of(run) && run.match.onNullCards() == newest->match.onNullCards() && alike(run);
  });
}

}  // namespace

std::string measuredWithText(unsigned share) {
  return fmt::format("measured with --jobs {0}: add -D design.share={0} to use them", share);
}

std::optional<PartResults> loadPart(const Store& store, const Plan& plan, const Part& part) {
  const Contents& contents = store.contents();
  const Somewhere where(contents, part.host);
  const Run* run =
      newestRun(contents, [&](const Run& one) { return one.study == plan.study && isOf(part, one) && where.has(one); });
  if (!run) return std::nullopt;
  PartResults found{{}, planOf(*run, contents), std::nullopt};
  if (found.plan) found.share = found.plan->design.share;
  if (found.plan && found.plan->digest != plan.digest) found.plan.reset();
  int64_t last = 0;  // the newest run that measured a trial of the part
  const auto load = [&](const Loader::Keep& keep) { return Loader(contents, plan, &run->match, keep).take(); };
  found.results = load([&](const Trial& trial) { return where.has(trial.session) && part.has(trial); });
  for (const Trial& trial : found.results.trials) last = std::max(last, trial.run);
  if (part.run || part.since || part.before)
    // Earlier runs on this machine count as looks at what they measured, even if the part leaves them out.
    found.with_earlier = load([&](const Trial& trial) { return where.has(trial.session) && trial.run <= last; });
  // Nothing earlier counts, so the part is all that was ever looked at.
  if (found.with_earlier && found.with_earlier->trials.size() == found.results.trials.size())
    found.with_earlier.reset();
  return found;
}

const Session* Store::latestSession(const SessionPlace& place) const {
  for (const auto& [id, session] : std::views::reverse(contents_.sessions))
    if (session.where.nodes == place.nodes && session.where.lane == place.lane) return &session;
  return nullptr;
}

const Run* Store::latestRun(const Plan& plan) const {
  SharesAlike alike(contents_, plan);
  return newestAlike(contents_, alike, plan.study, std::nullopt);
}

const BlockPlan* Store::latestBlock(int64_t session, std::string_view study) const {
  for (const auto& [id, block] : std::views::reverse(contents_.blocks))
    if (block.block.session == session && block.block.study == study) return &block;
  return nullptr;
}

std::vector<Trial> Store::unendedTrials() const {
  std::vector<Trial> trials;
  for (const auto& [id, trial] : contents_.trials)
    if (trial.status == TrialStatus::Running) trials.push_back(trial);
  return trials;
}

Results Store::loadLatest(const Plan& plan, std::optional<bool> null_cards) const {
  SharesAlike alike(contents_, plan);
  if (const Run* run = newestAlike(contents_, alike, plan.study, null_cards))
    return Loader(contents_, plan, &run->match).take();
  Results results;
  const auto leaveOut = [&](uint64_t count, const std::string& why) {
    results.kept_not_counted += count;
    results.not_counted_reasons.push_back(notCounted(count, why));
  };
  // No run says what must agree. Tell the user what lies in the store all the same: trials that were measured with
  // another --jobs, or for other studies.
  const std::vector<Trial> kept = Loader(contents_, plan, nullptr).trials();
  if (alike.other()) {
    results.looks = looksIn(contents_);
    leaveOut(kept.size(), fmt::format("the study was {}", measuredWithText(*alike.other())));
    return results;
  }
  std::map<std::string, uint64_t> studies;
  for (const Trial& trial : kept) ++studies[contents_.blocks.at(trial.block).block.study];
  // This study has no run here, so only trials that were measured for others are left to name.
  studies.erase(plan.study);
  for (const auto& [study, count] : studies)
    leaveOut(count, fmt::format("measured for the study {}; `expc run` counts those that fit", study));
  return results;
}

Results Store::load(const Plan& plan, const std::optional<Match>& given) const {
  return given ? Loader(contents_, plan, &*given).take() : loadLatest(plan, std::nullopt);
}

std::vector<Trial> Store::endedTrials(const Plan& plan) const { return Loader(contents_, plan, nullptr).trials(); }

History history(const Store& store, const Plan& plan, const Part& part) {
  History history{store.endedTrials(plan), {}, {}};
  const Somewhere where(store.contents(), part.host);
  std::erase_if(history.trials, [&](const Trial& trial) {
    return !part.has(trial) || !where.has(trial.session) ||
           (part.build && !trial.key->worker_build.starts_with(*part.build)) ||
           (part.program && !trial.key->data.starts_with(*part.program));
  });
  for (const Trial& trial : history.trials) {
    history.blocks.try_emplace(trial.block, store.contents().blocks.at(trial.block).block);
    history.sessions.try_emplace(trial.session, store.contents().sessions.at(trial.session));
  }
  return history;
}

}  // namespace expc::store
