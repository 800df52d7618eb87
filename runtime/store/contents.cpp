#include "runtime/store/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

namespace expc::store {
namespace {

/// Whether a metric has two values, or one although the device cannot give it.
bool saysTwice(const TrialValues& trial) {
  const std::set<std::string> absent(trial.not_on_device.begin(), trial.not_on_device.end());
  return absent.size() != trial.not_on_device.size() ||
         std::any_of(absent.begin(), absent.end(), [&](const std::string& name) { return trial.metrics.count(name); });
}

}  // namespace

llvm::Expected<Contents> Contents::read(const std::string& folder, const std::vector<JournalFile>& journals,
                                        std::vector<DamagedLine>& damaged) {
  Contents contents;
  for (const JournalFile& journal : journals) {
    uint64_t lost = 0;
    auto error = readJournal(
        folder, journal,
        [&](Entry&& entry) {
          lost += !contents.take(std::move(entry));
          return llvm::Error::success();
        },
        damaged);
    if (error) return error;
    if (lost > 0)
      damaged.push_back({journal.name, 0, fmt::format("{} entries refer to what is not there, or say it twice", lost)});
  }
  return contents;
}

bool Contents::take(Entry entry) {
  return std::visit([this](auto& one) { return add(std::move(one)); }, entry);
}

std::vector<Trial> Contents::trialsOf(int64_t block) const {
  std::vector<Trial> trials;
  for (auto at = attempts_.lower_bound({block, 0, 0}); at != attempts_.end() && std::get<0>(at->first) == block; ++at)
    trials.push_back(*at->second);
  std::sort(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.id < b.id; });
  return trials;
}

uint64_t Contents::nextBlockNumber(const std::string& study, plan::TrialKind kind) const {
  const auto next = next_block_.find({study, kind});
  return next == next_block_.end() ? 0 : next->second;
}

/// Whether another trial of the same place in its block is valid.
bool Contents::isValidElsewhere(const Trial& trial) const {
  for (auto at = attempts_.lower_bound({trial.block, trial.position, 0}); at != attempts_.end(); ++at) {
    const Trial& other = *at->second;
    if (other.block != trial.block || other.position != trial.position) return false;
    if (other.status == TrialStatus::Valid && other.id != trial.id) return true;
  }
  return false;
}

bool Contents::add(Opened&& entry) {
  if (name_.empty()) name_ = std::move(entry.store);
  return true;
}

bool Contents::add(Session&& entry) { return sessions_.try_emplace(entry.id, std::move(entry)).second; }

bool Contents::add(Seen&& entry) {
  const auto session = sessions_.find(entry.session);
  if (session == sessions_.end()) return false;
  session->second.last_seen = entry.at;
  return true;
}

bool Contents::add(PlanText&& entry) {
  plans_.try_emplace(std::move(entry.hash), std::move(entry.text));
  return true;
}

bool Contents::add(RunBegan&& entry) {
  if (!plans_.contains(entry.plan) || !sessions_.contains(entry.run.session)) return false;
  entry.run.plan_json = std::move(entry.plan);
  return runs_.try_emplace(entry.run.id, std::move(entry.run)).second;
}

bool Contents::add(RunEnded&& entry) {
  const auto run = runs_.find(entry.run);
  if (run == runs_.end()) return false;
  run->second.ended = entry.at;
  run->second.outcome = std::move(entry.outcome);
  run->second.judged = std::move(entry.judged);
  return true;
}

bool Contents::add(BlockPlan&& entry) {
  if (!sessions_.contains(entry.block.session)) return false;
  const auto [at, fresh] = blocks_.try_emplace(entry.block.id, std::move(entry));
  const Block& block = at->second.block;
  uint64_t& next = next_block_[{block.study, block.kind}];
  next = std::max(next, block.number + 1);
  return fresh;
}

bool Contents::add(KeyAdded&& entry) {
  return keys_.try_emplace(entry.id, std::make_shared<const TrialKey>(std::move(entry.key))).second;
}

bool Contents::add(TrialBegan&& entry) {
  const auto key = keys_.find(entry.key);
  TrialStart& from = entry.trial;
  if (key == keys_.end() || !blocks_.contains(from.block) || !sessions_.contains(from.session)) return false;
  Trial trial{std::move(from), {}, key->second};
  if (attempts_.contains({trial.block, trial.position, trial.attempt})) return false;
  const auto [at, fresh] = trials_.try_emplace(trial.id, std::move(trial));
  if (fresh) attempts_[{at->second.block, at->second.position, at->second.attempt}] = &at->second;
  return fresh;
}

bool Contents::add(TrialEnded&& entry) {
  const auto found = trials_.find(entry.trial.id);
  if (found == trials_.end() || found->second.status != TrialStatus::Running) return false;
  Trial &trial = found->second, &end = entry.trial;
  if (saysTwice(end) || (end.status == TrialStatus::Valid && isValidElsewhere(trial)) ||
      !add(Seen{end.session, entry.at}))
    return false;
  static_cast<TrialResult&>(trial) = std::move(end);
  return true;
}

bool Contents::add(Reread&& entry) {
  const auto found = trials_.find(entry.trial.id);
  const auto key = keys_.find(entry.key);
  if (found == trials_.end() || key == keys_.end() || saysTwice(entry.trial)) return false;
  Trial& trial = found->second;
  const bool read = trial.status == TrialStatus::Valid || trial.status == TrialStatus::Failed;
  if (!read || isValidElsewhere(trial)) return false;
  trial.key = key->second;
  trial.status = TrialStatus::Valid;
  trial.reason.clear();
  static_cast<TrialValues&>(trial) = std::move(entry.trial);
  return true;
}

bool Contents::add(Adopted&& entry) {
  if (!origins_.emplace(entry.store, entry.what, entry.theirs).second) return false;
  adopted_.push_back(std::move(entry));
  return true;
}

}  // namespace expc::store
