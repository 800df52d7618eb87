// Store: sessions, runs, blocks and trials, as they come into being. Written only while the lease is ours.

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "runtime/store/files.h"
#include "runtime/store/spool.h"
#include "runtime/store/store.h"

namespace expc::store {

llvm::Error Store::append(const Entry& entry, OnDisk when) {
  if (auto error = heartbeat()) return error;
  if (when != OnDisk::Sometime)  // the journal tells only once what the disk did not take
    if (auto error = settle()) return error;
  if (!journal_) {
    const auto appears = whole_ ? JournalWriter::Appears::Whole : JournalWriter::Appears::AtOnce;
    auto journal = JournalWriter::create(folder_, before_, name_, appears);
    if (!journal) return journal.takeError();
    journal_ = std::move(*journal);
  }
  if (auto error = journal_->append(entry, whole_ ? OnDisk::Sometime : when)) return error;
  if (!whole_) contents_.take(entry);
  return llvm::Error::success();
}

llvm::Error Store::beginWhole() {
  whole_ = true;
  if (!journal_) return llvm::Error::success();
  before_.push_back(journal_->file());
  journal_.reset();
  return llvm::Error::success();
}

llvm::Expected<int64_t> Store::numberOf(const Key& key) {
  auto [known, fresh] = known_keys_.try_emplace(key.get(), key, 0);
  if (!fresh) return known->second.second;
  auto [number, unknown] = keys_.try_emplace(*key, last_key_ + 1);
  if (unknown) {
    if (auto error = append(KeyAdded{number->second, *key})) {
      keys_.erase(number);
      known_keys_.erase(known);
      return error;
    }
    ++last_key_;
  }
  known->second.second = number->second;
  return number->second;
}

llvm::Expected<int64_t> Store::addSession(Session session) {
  session.id = sessions_ + 1;
  if (auto error = append(session, OnDisk::Now)) return error;
  return ++sessions_;
}

llvm::Error Store::touchSession(int64_t session, Moment at) { return append(Seen{session, at}); }

llvm::Expected<int64_t> Store::addRun(Run run) {
  run.id = runs_ + 1;
  const PlanText plan{plan::shortHash(run.plan_json), std::move(run.plan_json)};
  if (plans_.insert(plan.hash).second)
    if (auto error = append(plan)) return error;
  if (auto error = append(RunBegan{run, plan.hash}, OnDisk::Now)) return error;
  return ++runs_;
}

llvm::Error Store::endRun(int64_t run, Moment at, std::string_view outcome, JudgedPtr judged) {
  return append(RunEnded{run, at, std::string(outcome), std::move(judged)}, OnDisk::Now);
}

llvm::Expected<int64_t> Store::addBlock(BlockPlan plan) {
  plan.block.id = blocks_ + 1;
  if (auto error = append(plan)) return error;
  return ++blocks_;
}

llvm::Expected<int64_t> Store::beginTrial(const Trial& trial) {
  auto key = numberOf(trial.key);
  if (!key) return key.takeError();
  TrialBegan began{trial, *key};
  began.trial.id = trials_ + 1;
  unlink(keptOutput(folder_, began.trial.id).c_str());  // of a trial of this number that never came to be
  if (auto error = append(began)) return error;
  return ++trials_;
}

llvm::Error Store::endTrial(const Trial& trial, Moment at) {
  TrialEnded end{trial, at};
  llvm::Error error = append(end, OnDisk::WhenAwaited);
  if (whole_) return error;
  if (error) return keepElsewhere(std::move(error), end);
  unsettled_ = std::move(end);
  return llvm::Error::success();
}

llvm::Error Store::settle() {
  if (!unsettled_) return llvm::Error::success();
  const TrialEnded end = *std::exchange(unsettled_, std::nullopt);
  llvm::Error error = journal_->awaitSync();
  return error ? keepElsewhere(std::move(error), end) : llvm::Error::success();
}

llvm::Error Store::keepElsewhere(llvm::Error error, const TrialEnded& end) {
  // The lease may be another's by now: then the value is nobody's. Else the disk is in the way, and another may not be.
  if (auto lost = heartbeat()) {
    llvm::consumeError(std::move(error));  // it says the same, or what comes of it
    return lost;
  }
  return llvm::joinErrors(std::move(error), spool(name_, end));
}

llvm::Error Store::reread(const Trial& trial) {
  auto key = numberOf(trial.key);
  if (!key) return key.takeError();
  return append(Reread{trial, *key}, OnDisk::Now);
}

llvm::Error Store::adopt(Adopted entry) { return append(std::move(entry)); }

}  // namespace expc::store
