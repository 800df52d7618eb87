// Each operation either completes or changes nothing. Compacting and merging write one hidden journal and publish
// it at the end; a kill in between leaves a file that the next writer removes.

#include "runtime/store/maintenance.h"

#include <unistd.h>

#include <map>
#include <set>
#include <utility>
#include <variant>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/store/store.h"

namespace expc::store {

Expected<Verified> verify(const std::string& folder) {
  auto journals = TRY(listJournals(folder));
  std::vector<DamagedLine> damaged;
  // Reading builds the records too, so references between lines are checked as well.
  auto contents = TRY(readStore(folder, journals, damaged));
  Verified found{journals.files.size(), contents.sessions.size(), contents.runs.size(), contents.blocks.size(),
                 contents.trials.size()};
  for (const DamagedLine& line : damaged) found.damage.push_back(line.text());
  for (const JournalFile& journal : journals.files)
    if (journal.ignored > 0)
      found.notes.push_back(
          fmt::format("{}: the last {} bytes are ignored: an incomplete line, or one written after another process had "
                      "taken over the folder",
                      journal.name, journal.ignored));
  return found;
}

Expected<Compacted> compact(const std::string& folder, std::vector<std::string>& messages) {
  if (!isStore(folder)) return noResults(folder);
  // Opening for writing ends what a dead writer left open, and takes in the spool.
  auto store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  TRY(store->close());  // so that what opening had to add is in a journal too
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  const std::vector<JournalFile>& journals = store->journals().files;
  Compacted done;
  done.journals = journals.size();
  auto writer = TRY(JournalWriter::create(folder, journals, store->name(), JournalWriter::Appears::InsteadOfOthers));
  std::vector<DamagedLine> damaged = store->journals().missing;
  // Lines are copied as they are, so nothing about a record can change. Only plans that several journals repeat are
  // written once.
  std::set<std::string> plans;
  for (const JournalFile& journal : journals) {
    done.bytes_before += journal.bytes;
    TRY(readJournal(
        folder, journal,
        [&](Entry&& entry) -> Error {
          if (std::holds_alternative<Opened>(entry)) return Error::success();
          if (const auto* plan = std::get_if<PlanText>(&entry); plan && !plans.insert(plan->hash).second)
            return Error::success();
          return writer->append(entry, OnDisk::Sometime);
        },
        damaged));
  }
  if (!damaged.empty())
    return failure("{}; nothing was changed: restore the journals from a backup, or do without compacting",
                   damaged[0].text());
  // The lease may have been lost while all this was read: look before the old journals are replaced.
  TRY(store->heartbeat());
  TRY(writer->publish());
  done.bytes_after = writer->file().bytes;
  TRY(store->close());
  // The next writer removes the replaced journals, so open and close once more. An older expc kept an index of
  // them, which would be out of date.
  for (const char* file : {"expc.sqlite", "expc.sqlite-journal"}) unlink(fmt::format("{}/{}", folder, file).c_str());
  store = Store::openForWriting(folder, messages);
  if (!store) return store.takeError();
  TRY(store->close());
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

  Expected<Merged> run() {
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
    for (const int64_t id : sessions) TRY(add(from_.sessions.at(id)));
    for (const auto& [id, run] : from_.runs) TRY(add(run));
    for (const int64_t id : blocks) TRY(add(from_.blocks.at(id)));
    for (const auto& [id, trial] : from_.trials)
      if (comes(trial)) TRY(add(trial));
    return done_;
  }

  bool leavesRuns() const { return !at_work_.empty(); }

 private:
  /// Whether a trial is taken over. A run gets its number here once all its trials are there, because later
  /// verdicts count looks by the order of runs.
  bool comes(const Trial& trial) const { return trial.status != TrialStatus::Running && !at_work_.contains(trial.run); }

  /// Where a record came into being: in the other store, or where that store has it from.
  Origin originOf(const std::string& what, int64_t theirs) const {
    return valueIn(origins_, std::pair(what, theirs)).value_or(Origin{from_.name, what, theirs});
  }

  /// Our number of one of their records that is here already; 0 if it is not.
  int64_t ours(const std::string& what, int64_t theirs) const {
    const Origin origin = originOf(what, theirs);
    if (origin.store == into_.name()) return origin.number;  // they have it from us
    return valueIn(into_.contents().adopted, origin).value_or(0);
  }

  /// Notes that their record is here now, under number `ours`, and counts it.
  Error adopt(const std::string& what, int64_t theirs, Expected<int64_t> ours, uint64_t& count) {
    if (!ours) return ours.takeError();
    if (what == "trial") adopted_.insert(*ours);
    ++count;
    return into_.adopt({originOf(what, theirs), *ours});
  }

  Error add(const Session& session) {
    if (ours("session", session.id)) return Error::success();
    return adopt("session", session.id, into_.addSession(session), done_.sessions);
  }

  Error add(Run run) {
    if (at_work_.contains(run.id) || ours("run", run.id)) return Error::success();
    const int64_t theirs = run.id;
    run.plan_json = from_.plans.at(run.plan_json);
    run.session = ours("session", run.session);
    auto number = TRY(into_.addRun(run));
    // A run without an end, whose writer is not at work, was killed.
    const Outcome outcome = run.outcome.value_or(Outcome{Outcome::Killed});
    TRY(into_.endRun(number, run.ended, outcome, run.judged));
    return adopt("run", theirs, number, done_.runs);
  }

  Error add(BlockPlan block) {
    if (ours("block", block.block.id)) return Error::success();
    const int64_t theirs = block.block.id;
    block.block.session = ours("session", block.block.session);
    return adopt("block", theirs, into_.addBlock(std::move(block)), done_.blocks);
  }

  Error add(Trial trial) {
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
        TRY(takeOutput(theirs, at->second->id));
        return adopt("trial", theirs, at->second->id, done_.known);
      }
    trial.id = TRY(into_.beginTrial(trial));
    // Boot times of another machine mean nothing here, so the end has none.
    TRY(into_.endTrial(trial, {trial.started + trial.seconds, 0}));
    TRY(takeOutput(theirs, trial.id));
    return adopt("trial", theirs, trial.id, done_.trials);
  }

  /// Copies a trial's kept output, also for trials that were known before: an older expc went on without it when
  /// there was no room. After an error all copied outputs are removed, since their trials will never be published.
  Error takeOutput(int64_t theirs, int64_t ours) {
    std::string output = keptOutput(into_.folder(), ours);
    if (files::isThere(output)) return Error::success();
    outputs_.push_back(std::move(output));
    Error error = copyOutput(other_, theirs, into_.folder(), ours);
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

Expected<Merged> merge(const std::string& folder, const std::string& other, std::vector<std::string>& messages) {
  // Asked before and after reading: a run may begin or end meanwhile, and its records would be incomplete.
  bool live = Lease::isLive(other);
  auto journals = TRY(listJournals(other));
  std::vector<DamagedLine> damaged;
  auto theirs = TRY(readStore(other, journals, damaged));
  live |= Lease::isLive(other);  // it may have begun meanwhile
  tellDamaged(other, damaged, messages);
  auto into = TRY(Store::openForWriting(folder, messages));
  // Copies share the name and number their new records alike, so equal numbers would mean different trials.
  if (theirs.name == into.name()) {
    return failure("'{}' and '{}' are copies of one folder: what each measured since then cannot be told apart", other,
                   folder);
  }
  TRY(into.beginWhole());
  Merger merger(into, theirs, other, live);
  auto merged = TRY(merger.run());
  if (merger.leavesRuns())
    messages.push_back(
        fmt::format("a run is in progress in '{}': repeat the command when it has finished, to add the rest", other));
  TRY(into.close());
  return merged;
}

}  // namespace expc::store
