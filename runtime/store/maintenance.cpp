#include "runtime/store/maintenance.h"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"
#include "runtime/store/store.h"

namespace expc::store {

llvm::Expected<Verified> verify(const std::string& folder) {
  auto journals = listJournals(folder);
  if (!journals) return journals.takeError();
  std::vector<DamagedLine> damaged;
  auto contents = readStore(folder, *journals, damaged);
  if (!contents) return contents.takeError();
  Verified found{journals->files.size(), contents->sessions.size(), contents->runs.size(), contents->blocks.size(),
                 contents->trials.size()};
  for (const DamagedLine& line : damaged) found.damage.push_back(line.text());
  for (const JournalFile& journal : journals->files)
    if (journal.ignored > 0)
      found.notes.push_back(
          fmt::format("{}: {} bytes at its end do not count: a line that was cut, or written after "
                      "another process had taken the folder over",
                      journal.name, journal.ignored));
  return found;
}

llvm::Expected<Compacted> compact(const std::string& folder, std::vector<std::string>& messages) {
  if (!isStore(folder)) return noResults(folder);
  auto store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  if (auto error = store->close()) return error;  // so that what it had to add is in a journal too
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  const std::vector<JournalFile>& journals = store->journals().files;
  Compacted done;
  done.journals = journals.size();
  auto made = JournalWriter::create(folder, journals, store->name(), JournalWriter::Appears::InsteadOfOthers);
  if (!made) return made.takeError();
  const std::unique_ptr<JournalWriter> writer = std::move(*made);
  std::vector<DamagedLine> damaged = store->journals().missing;
  std::set<std::string> plans;
  for (const JournalFile& journal : journals) {
    done.bytes_before += journal.bytes;
    auto error = readJournal(
        folder, journal,
        [&](Entry&& entry) -> llvm::Error {
          if (std::holds_alternative<Opened>(entry)) return llvm::Error::success();
          if (const auto* plan = std::get_if<PlanText>(&entry); plan && !plans.insert(plan->hash).second)
            return llvm::Error::success();
          return writer->append(entry, OnDisk::Sometime);
        },
        damaged);
    if (error) return error;
  }
  if (!damaged.empty())
    return base::failure("{}; nothing was changed: put the journals of a backup back, or go on without compacting",
                         damaged[0].text());
  if (auto error = store->heartbeat()) return error;
  if (auto error = writer->publish()) return error;
  done.bytes_after = writer->file().bytes;
  if (auto error = store->close()) return error;
  // The next writer removes the journals that are replaced. An older expc kept an index of them.
  for (const char* file : {"expc.sqlite", "expc.sqlite-journal"}) unlink(fmt::format("{}/{}", folder, file).c_str());
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  if (auto error = store->close()) return error;
  return done;
}

namespace {

/// Copies the records of one store into another under new numbers.
class Merger {
 public:
  /// `live`: a run is at work in the other folder.
  Merger(Store& into, const Contents& from, std::string other, bool live)
      : into_(into), from_(from), other_(std::move(other)) {
    for (const auto& [id, run] : from.runs)
      if (live && !run.outcome) at_work_.insert(id);
    for (const auto& [origin, ours] : from.adopted) origins_[{origin.what, ours}] = origin;
    for (const auto& [origin, ours] : into.contents().adopted)
      if (origin.what == "trial") adopted_.insert(ours);
  }

  llvm::Expected<Merged> run() {
    // Of sessions and blocks nothing comes but what runs and trials refer to: a run here might go on with one as theirs
    // does.
    std::set<int64_t> sessions, blocks;
    for (const auto& [id, run] : from_.runs)
      if (!at_work_.contains(id)) sessions.insert(run.session);
    for (const auto& [id, trial] : from_.trials) {
      if (!comes(trial)) continue;
      blocks.insert(trial.block);
      sessions.insert({trial.session, from_.blocks.at(trial.block).block.session});
    }
    for (const int64_t id : sessions)
      if (auto error = add(from_.sessions.at(id))) return error;
    for (const auto& [id, run] : from_.runs)
      if (auto error = add(run)) return error;
    for (const int64_t id : blocks)
      if (auto error = add(from_.blocks.at(id))) return error;
    for (const auto& [id, trial] : from_.trials)
      if (comes(trial))
        if (auto error = add(trial)) return error;
    return done_;
  }

  bool leavesRuns() const { return !at_work_.empty(); }

 private:
  /// A run has its number here once all its trials are there: what later runs saw of it goes by these numbers.
  bool comes(const Trial& trial) const { return trial.status != TrialStatus::Running && !at_work_.contains(trial.run); }

  /// In the other store, or where that has the record from.
  Origin originOf(const std::string& what, int64_t theirs) const {
    const auto found = origins_.find({what, theirs});
    return found == origins_.end() ? Origin{from_.name, what, theirs} : found->second;
  }

  /// Our number of a record of theirs that is here already; 0: it is not.
  int64_t ours(const std::string& what, int64_t theirs) const {
    const Origin origin = originOf(what, theirs);
    if (origin.store == into_.name()) return origin.number;  // they have it from us
    const auto& known = into_.contents().adopted;
    const auto found = known.find(origin);
    return found == known.end() ? 0 : found->second;
  }

  llvm::Error adopt(const std::string& what, int64_t theirs, llvm::Expected<int64_t> ours, uint64_t& count) {
    if (!ours) return ours.takeError();
    if (what == "trial") adopted_.insert(*ours);
    ++count;
    return into_.adopt({originOf(what, theirs), *ours});
  }

  llvm::Error add(const Session& session) {
    if (ours("session", session.id)) return llvm::Error::success();
    return adopt("session", session.id, into_.addSession(session), done_.sessions);
  }

  llvm::Error add(Run run) {
    if (at_work_.contains(run.id) || ours("run", run.id)) return llvm::Error::success();
    const int64_t theirs = run.id;
    run.plan_json = from_.plans.at(run.plan_json);
    run.session = ours("session", run.session);
    auto number = into_.addRun(run);
    if (!number) return number.takeError();
    const Outcome outcome = run.outcome.value_or(Outcome{Outcome::Killed});
    if (auto error = into_.endRun(*number, run.ended, outcome, run.judged)) return error;
    return adopt("run", theirs, *number, done_.runs);
  }

  llvm::Error add(BlockPlan block) {
    if (ours("block", block.block.id)) return llvm::Error::success();
    const int64_t theirs = block.block.id;
    block.block.session = ours("session", block.block.session);
    return adopt("block", theirs, into_.addBlock(std::move(block)), done_.blocks);
  }

  llvm::Error add(Trial trial) {
    const int64_t theirs = trial.id;
    if (const int64_t known = ours("trial", theirs)) {
      ++done_.known;
      return takeOutput(theirs, known);
    }
    trial.session = ours("session", trial.session);
    trial.block = ours("block", trial.block);
    trial.run = ours("run", trial.run);
    // An older expc may have been killed before it noted the trial, or in the middle of it. One that is noted is
    // another.
    const auto& here = into_.contents().attempts;
    for (auto at = here.find({trial.block, trial.position, trial.attempt}); at != here.end();
         at = here.find({trial.block, trial.position, ++trial.attempt}))
      if (at->second->started == trial.started && at->second->status == trial.status &&
          !adopted_.contains(at->second->id)) {
        if (auto error = takeOutput(theirs, at->second->id)) return error;
        return adopt("trial", theirs, at->second->id, done_.known);
      }
    auto number = into_.beginTrial(trial);
    if (!number) return number.takeError();
    trial.id = *number;
    if (auto error = into_.endTrial(trial, {trial.started + trial.seconds, 0})) return error;
    if (auto error = takeOutput(theirs, *number)) return error;
    return adopt("trial", theirs, *number, done_.trials);
  }

  /// Of a trial that was known too: an older expc went on where there was no room for it. On an error none stays, since
  /// their trials may never come to be.
  llvm::Error takeOutput(int64_t theirs, int64_t ours) {
    std::string output = keptOutput(into_.folder(), ours);
    if (files::isThere(output)) return llvm::Error::success();
    outputs_.push_back(std::move(output));
    llvm::Error error = copyOutput(other_, theirs, into_.folder(), ours);
    if (error)
      for (const std::string& taken : outputs_) unlink(taken.c_str());
    return error;
  }

  Store& into_;
  const Contents& from_;
  const std::string other_;                                    // the folder that `from_` is of
  std::set<int64_t> at_work_;                                  // their runs that have not ended
  std::vector<std::string> outputs_;                           // that were taken along
  std::set<int64_t> adopted_;                                  // our trials that are another store's
  std::map<std::pair<std::string, int64_t>, Origin> origins_;  // of what they have by that number from others
  Merged done_;
};

}  // namespace

llvm::Expected<Merged> merge(const std::string& folder, const std::string& other, std::vector<std::string>& messages) {
  bool live = Lease::isLive(other);
  auto journals = listJournals(other);
  if (!journals) return journals.takeError();
  std::vector<DamagedLine> damaged;
  auto theirs = readStore(other, *journals, damaged);
  if (!theirs) return theirs.takeError();
  live |= Lease::isLive(other);  // it may have begun meanwhile
  tellDamaged(other, damaged, messages);
  auto into = Store::openForWriting(folder, messages);
  if (!into) return into.takeError();
  if (theirs->name == into->name()) {
    return base::failure(
        "'{}' is a copy of '{}', or this is a copy of it: what one of them measured since cannot be told "
        "from what the other did",
        other, folder);
  }
  if (auto error = into->beginWhole()) return error;
  Merger merger(*into, *theirs, other, live);
  auto merged = merger.run();
  if (!merged) return merged.takeError();
  if (merger.leavesRuns())
    messages.push_back(fmt::format(
        "a run is at work in '{}': what it measures is taken over by the same command after its end", other));
  if (auto error = into->close()) return error;
  return merged;
}

}  // namespace expc::store
