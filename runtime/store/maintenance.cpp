// Each operation either completes or changes nothing. Compacting and merging write one hidden journal and publish
// it at the end; a kill in between leaves a file that the next writer removes.

#include "runtime/store/maintenance.h"

#include <unistd.h>

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/store/store.h"

namespace expc::store {

llvm::Expected<Verified> verify(const std::string& folder) {
  auto journals = listJournals(folder);
  if (!journals) return journals.takeError();
  std::vector<DamagedLine> damaged;
  // Reading builds the records too, so references between lines are checked as well.
  auto contents = readStore(folder, *journals, damaged);
  if (!contents) return contents.takeError();
  Verified found{journals->files.size(), contents->sessions.size(), contents->runs.size(), contents->blocks.size(),
                 contents->trials.size()};
  for (const DamagedLine& line : damaged) found.damage.push_back(line.text());
  for (const JournalFile& journal : journals->files)
    if (journal.ignored > 0)
      found.notes.push_back(
          fmt::format("{}: the last {} bytes are ignored: an incomplete line, or one written after another process had "
                      "taken over the folder",
                      journal.name, journal.ignored));
  return found;
}

llvm::Expected<Compacted> compact(const std::string& folder, std::vector<std::string>& messages) {
  if (!isStore(folder)) return noResults(folder);
  // Opening for writing ends what a dead writer left open, and takes in the spool.
  auto store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  if (auto error = store->close()) return error;  // so that what opening had to add is in a journal too
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  const std::vector<JournalFile>& journals = store->journals().files;
  Compacted done;
  done.journals = journals.size();
  auto made = JournalWriter::create(folder, journals, store->name(), JournalWriter::Appears::InsteadOfOthers);
  if (!made) return made.takeError();
  const std::unique_ptr<JournalWriter> writer = std::move(*made);
  std::vector<DamagedLine> damaged = store->journals().missing;
  // Lines are copied as they are, so nothing about a record can change. Only plans that several journals repeat are
  // written once.
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
    return base::failure("{}; nothing was changed: restore the journals from a backup, or do without compacting",
                         damaged[0].text());
  // The lease may have been lost while all this was read: look before the old journals are replaced.
  if (auto error = store->heartbeat()) return error;
  if (auto error = writer->publish()) return error;
  done.bytes_after = writer->file().bytes;
  if (auto error = store->close()) return error;
  // The next writer removes the replaced journals, so open and close once more. An older expc kept an index of
  // them, which would be out of date.
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
  /// `live`: a run is at work in the other folder, so its open runs are not dead.
  Merger(Store& into, const Contents& from, std::string other, bool live)
      : into_(into), from_(from), other_(std::move(other)) {
    for (const auto& [id, run] : from.runs)
      if (live && !run.outcome) at_work_.insert(id);
    for (const auto& [origin, ours] : from.adopted) origins_[{origin.what, ours}] = origin;
    for (const auto& [origin, ours] : into.contents().adopted)
      if (origin.what == "trial") adopted_.insert(ours);
  }

  llvm::Expected<Merged> run() {
    // Copy only sessions and blocks that a copied run or trial refers to. An unreferenced one may still be open,
    // and could then be continued in both stores.
    std::set<int64_t> sessions, blocks;
    for (const auto& [id, run] : from_.runs)
      if (!at_work_.contains(id)) sessions.insert(run.session);
    for (const auto& [id, trial] : from_.trials) {
      if (!comes(trial)) continue;
      blocks.insert(trial.block);
      // A session can differ from its block's, if the block went on in a later one: both are needed.
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
  /// Whether a trial is taken over. A run gets its number here once all its trials are there, because later
  /// verdicts count looks by the order of runs.
  bool comes(const Trial& trial) const { return trial.status != TrialStatus::Running && !at_work_.contains(trial.run); }

  /// Where a record came into being: in the other store, or where that store has it from.
  Origin originOf(const std::string& what, int64_t theirs) const {
    return base::valueIn(origins_, std::pair(what, theirs)).value_or(Origin{from_.name, what, theirs});
  }

  /// Our number of one of their records that is here already; 0 if it is not.
  int64_t ours(const std::string& what, int64_t theirs) const {
    const Origin origin = originOf(what, theirs);
    if (origin.store == into_.name()) return origin.number;  // they have it from us
    return base::valueIn(into_.contents().adopted, origin).value_or(0);
  }

  /// Notes that their record is here now, under number `ours`, and counts it.
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
    // A run without an end, whose writer is not at work, was killed.
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
    // A killed merge of an older expc may have copied the trial without noting its origin, or a part of the
    // attempts. So an equal trial that is nobody's copy is taken for this one.
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
    // Boot times of another machine mean nothing here, so the end has none.
    if (auto error = into_.endTrial(trial, {trial.started + trial.seconds, 0})) return error;
    if (auto error = takeOutput(theirs, *number)) return error;
    return adopt("trial", theirs, *number, done_.trials);
  }

  /// Copies a trial's kept output, also for trials that were known before: an older expc went on without it when
  /// there was no room. After an error all copied outputs are removed, since their trials will never be published.
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
  const std::string other_;                                    // the folder of `from_`
  std::set<int64_t> at_work_;                                  // their runs that have not ended
  std::vector<std::string> outputs_;                           // copied so far
  std::set<int64_t> adopted_;                                  // our trials that came from another store
  std::map<std::pair<std::string, int64_t>, Origin> origins_;  // by what they call it
  Merged done_;
};

}  // namespace

llvm::Expected<Merged> merge(const std::string& folder, const std::string& other, std::vector<std::string>& messages) {
  // Asked before and after reading: a run may begin or end meanwhile, and its records would be incomplete.
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
  // Copies share the name and number their new records alike, so equal numbers would mean different trials.
  if (theirs->name == into->name()) {
    return base::failure("'{}' and '{}' are copies of one folder: what each measured since then cannot be told apart",
                         other, folder);
  }
  if (auto error = into->beginWhole()) return error;
  Merger merger(*into, *theirs, other, live);
  auto merged = merger.run();
  if (!merged) return merged.takeError();
  if (merger.leavesRuns())
    messages.push_back(
        fmt::format("a run is in progress in '{}': repeat the command when it has finished, to add the rest", other));
  if (auto error = into->close()) return error;
  return merged;
}

}  // namespace expc::store
