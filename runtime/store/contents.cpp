// Builds records in memory from the entries of journals. Journals may be damaged or a stranger's, so each entry is
// checked against what is there: it must refer to known records and must not repeat what can be said once. Readers
// may therefore look up block, session, key and run of any trial without checking.

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "runtime/base/format.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

/// Whether a metric has two values, or one although the worker said that the device cannot give it.
bool saysTwice(const Values& values) {
  const std::set<std::string> absent(values.not_on_device.begin(), values.not_on_device.end());
  return absent.size() != values.not_on_device.size() ||
         std::ranges::any_of(absent, [&](const std::string& name) { return values.metrics.count(name); });
}
bool saysTwice(const TrialValues& trial) {
  return saysTwice(static_cast<const Values&>(trial)) ||
         std::ranges::any_of(trial.rows, [](const auto& row) { return saysTwice(row.second); });
}

/// Whether another attempt at the same place of a block is valid: a place has one value.
bool isValidElsewhere(const Contents& in, const Trial& trial) {
  for (auto at = in.attempts.lower_bound({trial.block, trial.position, 0}); at != in.attempts.end(); ++at) {
    const Trial& other = *at->second;
    if (other.block != trial.block || other.position != trial.position) return false;
    if (other.status == TrialStatus::Valid && other.id != trial.id) return true;
  }
  return false;
}

/// The overloads of add() take one entry each, and return false if nothing of it was taken.
bool add(Contents& in, Opened&& entry) {
  if (in.name.empty()) in.name = std::move(entry.store);
  return true;
}

bool add(Contents& in, Session&& entry) { return in.sessions.try_emplace(entry.id, std::move(entry)).second; }

bool add(Contents& in, Seen&& entry) {
  const auto session = in.sessions.find(entry.session);
  if (session == in.sessions.end()) return false;
  session->second.last_seen = entry.at;
  return true;
}

bool add(Contents& in, PlanText&& entry) {
  in.plans.try_emplace(std::move(entry.hash), std::move(entry.text));
  return true;
}

bool add(Contents& in, RunBegan&& entry) {
  // Nothing says with what a run was started if its plan is lost, so the run and its trials are left out.
  if (!in.plans.contains(entry.plan) || !in.sessions.contains(entry.run.session)) return false;
  entry.run.plan_json = std::move(entry.plan);
  return in.runs.try_emplace(entry.run.id, std::move(entry.run)).second;
}

bool add(Contents& in, RunEnded&& entry) {
  const auto run = in.runs.find(entry.run);
  if (run == in.runs.end()) return false;
  run->second.ended = entry.at;
  run->second.outcome = entry.outcome;
  run->second.judged = std::move(entry.judged);
  return true;
}

bool add(Contents& in, BlockPlan&& entry) {
  if (!in.sessions.contains(entry.block.session)) return false;
  return in.blocks.try_emplace(entry.block.id, std::move(entry)).second;
}

bool add(Contents& in, KeyAdded&& entry) {
  return in.keys.try_emplace(entry.id, std::make_shared<const TrialKey>(std::move(entry.key))).second;
}

bool add(Contents& in, TrialBegan&& entry) {
  const auto key = in.keys.find(entry.key);
  TrialStart& from = entry.trial;
  if (key == in.keys.end() || !in.blocks.contains(from.block) || !in.sessions.contains(from.session)) return false;
  // The run's plan says with what the trial was started; without it another study's value might count.
  if (from.run != 0 && !in.runs.contains(from.run)) return false;
  Trial trial{std::move(from), {}, key->second};
  // An attempt has one trial.
  if (in.attempts.contains({trial.block, trial.position, trial.attempt})) return false;
  const auto [at, fresh] = in.trials.try_emplace(trial.id, std::move(trial));
  if (fresh) in.attempts[{at->second.block, at->second.position, at->second.attempt}] = &at->second;
  return fresh;
}

bool add(Contents& in, TrialEnded&& entry) {
  const auto found = in.trials.find(entry.trial.id);
  if (found == in.trials.end() || found->second.status != TrialStatus::Running) return false;
  Trial &trial = found->second, &end = entry.trial;
  // The session's time is touched last: after it the entry is taken for certain.
  if (saysTwice(end) || (end.status == TrialStatus::Valid && isValidElsewhere(in, trial)) ||
      !add(in, Seen{end.session, entry.at}))
    return false;
  static_cast<TrialResult&>(trial) = std::move(end);
  return true;
}

bool add(Contents& in, Reread&& entry) {
  const auto found = in.trials.find(entry.trial.id);
  const auto key = in.keys.find(entry.key);
  if (found == in.trials.end() || key == in.keys.end() || saysTwice(entry.trial)) return false;
  Trial& trial = found->second;
  // Trials that timed out, ran out of memory or were disturbed keep their status: reading anew finds no other.
  const bool read = trial.status == TrialStatus::Valid || trial.status == TrialStatus::Failed;
  if (!read || isValidElsewhere(in, trial)) return false;
  trial.key = key->second;
  trial.status = TrialStatus::Valid;
  trial.reason.clear();
  // The values of a reread replace all that the trial had; its environment and duration stay.
  static_cast<TrialValues&>(trial) = std::move(entry.trial);
  return true;
}

bool add(Contents& in, Adopted&& entry) { return in.adopted.try_emplace(std::move(entry.from), entry.ours).second; }

}  // namespace

bool Contents::take(Entry entry) {
  return std::visit([this](auto& one) { return add(*this, std::move(one)); }, entry);
}

Expected<Contents> Contents::read(const std::string& folder, const Journals& journals,
                                  std::vector<DamagedLine>& damaged) {
  Contents contents;
  damaged = journals.missing;
  for (const JournalFile& journal : journals.files) {
    uint64_t lost = 0;
    // Entries that refer to nothing are only counted: their lines are sound, so it is another line that is damaged.
    TRY(readJournal(
        folder, journal,
        [&](Entry&& entry) {
          lost += !contents.take(std::move(entry));
          return Error::success();
        },
        damaged));
    if (lost > 0)
      damaged.push_back({journal.name, 0, fmt::format("{} entries refer to missing records, or repeat one", lost)});
  }
  return contents;
}

std::vector<Trial> Contents::trialsOf(int64_t block) const {
  std::vector<Trial> found;
  for (auto at = attempts.lower_bound({block, 0, 0}); at != attempts.end() && std::get<0>(at->first) == block; ++at)
    found.push_back(*at->second);
  // Sorted by id, which is the order in which they began; the index is in the order of positions.
  std::ranges::sort(found, {}, &Trial::id);
  return found;
}

uint64_t Contents::nextBlockNumber(const std::string& study, TrialKind kind) const {
  uint64_t next = 0;
  for (const auto& [id, plan] : blocks)
    if (plan.block.study == study && plan.block.kind == kind) next = std::max(next, plan.block.number + 1);
  return next;
}

}  // namespace expc::store
