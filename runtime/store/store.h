#pragma once

// The store: everything that was measured, in a results folder. On disk it is a set of journals that are only
// appended to; in memory, records (Contents). One process writes (it holds the lease); readers write nothing and
// wait for nobody. A killed writer loses at most the trial that ran. Which trials count for a plan is decided in
// match.h.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"
#include "runtime/store/journal.h"
#include "runtime/store/lease.h"
#include "runtime/store/match.h"
#include "runtime/store/records.h"

namespace expc::store {

/// All records that the journals of a results folder hold.
struct Contents {
  Contents() = default;
  Contents(Contents&&) = default;  // `attempts` points into `trials`, whose elements stay where they are
  Contents& operator=(Contents&&) = default;

  /// Reads `journals` of `folder`. A damaged line is left out, with everything that refers to it, and named in
  /// `damaged`.
  static Expected<Contents> read(const std::string& folder, const Journals& journals,
                                 std::vector<DamagedLine>& damaged);

  /// Takes the record of an entry. Returns false, and takes nothing, if the entry refers to a record that is not
  /// there, or repeats what can be said only once.
  bool take(Entry entry);

  /// One more than the largest number of the study's blocks of a kind; 0 if there is none.
  uint64_t nextBlockNumber(const std::string& study, TrialKind kind) const;
  /// The trials of a block, whatever their status, by id.
  std::vector<Trial> trialsOf(int64_t block) const;

  std::string name;  // the store's; "" if there is no journal
  std::map<int64_t, Session> sessions;
  std::map<std::string, std::string> plans;  // texts by their hashes
  std::map<int64_t, Run> runs;               // `plan_json` of each is the hash
  std::map<int64_t, BlockPlan> blocks;
  std::map<int64_t, Key> keys;
  std::map<int64_t, Trial> trials;  // their keys, blocks, sessions and runs exist; run 0: not known
  std::map<std::tuple<int64_t, unsigned, unsigned>, const Trial*> attempts;  // by block, position and attempt
  std::map<Origin, int64_t> adopted;                                         // our numbers for records of other stores
};

/// Whether the folder holds results.
bool isStore(const std::string& folder);

/// The path below a results folder where the output of a command's trial is kept.
std::string keptOutput(const std::string& results, int64_t trial);
/// Copies the kept output of a trial to another folder, where the trial has another number. Does nothing if no
/// output was kept.
Error copyOutput(const std::string& from, int64_t trial, const std::string& to, int64_t number);

/// "no results in 'DIR' …", with the way out.
Error noResults(const std::string& folder);

/// Reads the journals of a folder. It is an error if there are none, and the error says what to do.
Expected<Contents> readStore(const std::string& folder, const Journals& journals, std::vector<DamagedLine>& damaged);
/// Adds a message with the number of damaged lines and the first of them; nothing if there are none.
void tellDamaged(const std::string& folder, const std::vector<DamagedLine>& damaged,
                 std::vector<std::string>& messages);

/// A results folder opened for reading or writing. Not thread-safe. Records that it returns pointers to stay where
/// they are as long as it lives.
class Store {
 public:
  /// Takes the lease of `folder` (made if missing) and reads the journals. Trials that a dead engine left running
  /// are marked as interrupted. `messages` gets what the user should know (a stale lease taken over, damaged
  /// lines). Errors name the path and say what to do.
  static Expected<Store> openForWriting(const std::string& folder, std::vector<std::string>& messages);

  /// A consistent view of everything that has ended so far, also beside a live writer.
  static Expected<Store> openForReading(const std::string& folder, std::vector<std::string>& messages);

  Store(Store&&) noexcept = default;

  /// The results that count for `plan`. Without `match`, the newest run of the same study sets it, provided that
  /// run executed as many blocks at a time as the plan does (design.share). Without such a run the results are
  /// empty and give the reason, also if the points' trials were measured for other studies. Results of simulated
  /// GPUs count only if there are no others.
  Results load(const Plan& plan, const std::optional<Match>& match = std::nullopt) const;
  /// The results without a match; `null_cards`, if given, restricts the runs to those on simulated GPUs, or to the
  /// others.
  Results loadLatest(const Plan& plan, std::optional<bool> null_cards) const;
  /// Every ended trial of the plan's points, whatever its key, by id.
  std::vector<Trial> endedTrials(const Plan& plan) const;
  /// Trials whose end is not recorded, by id; beside a living writer these are running.
  std::vector<Trial> unendedTrials() const;
  /// The run whose match load() takes. Null if there is none, like the next two.
  const Run* latestRun(const Plan& plan) const;
  /// The newest session on the same nodes, in the same lane.
  const Session* latestSession(const SessionPlace& place) const;
  /// The newest block of the study in a session.
  const BlockPlan* latestBlock(int64_t session, std::string_view study) const;
  /// All that has been read and written.
  const Contents& contents() const { return contents_; }

  // Writing. Each call appends to the journal; a trial's result is durable once sync() returns.
  Expected<int64_t> addSession(Session session);
  /// Records that a session still goes on.
  Error touchSession(int64_t session, Moment at);
  Expected<int64_t> addRun(Run run);
  Error endRun(int64_t run, Moment at, Outcome outcome, RunClaimsPtr judged = nullptr);
  Expected<int64_t> addBlock(BlockPlan block);
  Expected<int64_t> beginTrial(const Trial& trial);
  /// Records a trial's result, and that its session goes on. The result is being written to the disk when this
  /// returns; it is durable once sync() returns.
  Error endTrial(const Trial& trial, Moment at);
  /// Waits until the last trial that ended is durable. If the disk refuses it, it is kept in the spool, and the
  /// error says where.
  Error sync();
  /// Records values of a trial that were read anew under another key; the trial is valid then.
  Error reread(const Trial& trial);
  /// Notes that a record of another store is here now, under our number.
  Error adopt(Adopted entry);
  /// Starts a write that becomes visible as a whole when close() succeeds, and not at all before. Nothing may be
  /// read meanwhile.
  Error beginWhole();

  /// Shows other machines that this process lives. Returns an error if another process took the lease. A journal
  /// that somebody removed, replaced or cut is written once more from memory, and the listener is told.
  Error heartbeat();
  /// Explains an error about files of the results folder that are gone. If somebody removes the folder, its lease and
  /// journal go up to a second later, and the error says where the results are kept. Otherwise returns `error`.
  Error explainLoss(Error error);
  /// Sets the listener for messages about such repairs.
  void onNews(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }
  /// Makes everything durable and visible, and gives the lease back.
  Error close();

  const std::string& folder() const { return folder_; }
  /// The name that every copy of this store shares, and no other store has.
  const std::string& name() const { return name_; }
  /// The journals that existed before this process wrote.
  const Journals& journals() const { return before_; }

 private:
  Store() = default;
  Error readJournals(std::vector<std::string>& messages);
  Error takeSpooled(std::vector<std::string>& messages);
  Error closeDead();
  Error append(const Entry& entry, OnDisk when = OnDisk::Sometime);
  Error keepElsewhere(Error error, const TrialEnded& end);
  Expected<int64_t> numberOf(const Key& key);
  Error writeAgain();
  Error keepRemoved(Error error, bool lost = false);

  std::string folder_;
  Contents contents_;
  Journals before_;  // the journals of earlier processes
  std::unique_ptr<JournalWriter> journal_;
  std::optional<TrialEnded> unsettled_;  // its write to the disk is under way
  bool whole_ = false;                   // our journal appears only when we close
  std::string name_;
  std::map<TrialKey, int64_t> keys_;  // their numbers
  std::set<std::string> plans_;
  std::optional<Lease> lease_;
  std::string kept_;  // where a journal's lines are kept after its folder was removed
  std::function<void(const std::string&)> tell_ = [](const std::string&) {};
};

/// Selects a part of a study's results: one machine, one build, one time. Two parts can be compared.
struct Part {
  std::optional<std::string> host;
  std::optional<int64_t> run;
  std::optional<std::string> build;     // begins the worker's build
  std::optional<std::string> program;   // begins a digest of the program or its data
  std::optional<double> since, before;  // Unix time at which a trial started

  /// Whether a trial belongs to that run and that time.
  bool has(const Trial& trial) const {
    return (!run || trial.run == *run) && (!since || trial.started >= *since) && (!before || trial.started < *before);
  }
};

/// The results of one part, and what its run tells about them.
struct PartResults {
  Results results;
  /// The plan of the run that they count for, if that plan is the one asked about: it says what that machine could
  /// run. Absent if the study was another one then, or cannot be read any more.
  std::optional<Plan> plan;
  std::optional<unsigned> share;  // blocks that the run executed at a time; absent if its plan cannot be read any more
  /// For a part that leaves out trials of earlier runs on its machine: the results with them. Verdicts on those
  /// trials were looks at the same data.
  std::optional<Results> with_earlier = std::nullopt;
};

/// "measured with --jobs 2; …", with the option that makes its trials count.
std::string measuredWithText(unsigned share);

/// The results of the newest run of the study that belongs to this part. Nothing if no run does. Results of
/// simulated GPUs count only if there are no others.
std::optional<PartResults> loadPart(const Store& store, const Plan& plan, const Part& part);

/// Everything that a store holds of a plan's points, whether it counts or not; exports write it.
struct History {
  std::vector<Trial> trials;  // ended trials, whatever their key; by id
  std::map<int64_t, Block> blocks;
  std::map<int64_t, Session> sessions;
};

/// Every ended trial of the plan's points that belongs to the part, with its block and session.
History history(const Store& store, const Plan& plan, const Part& part = {});

}  // namespace expc::store
