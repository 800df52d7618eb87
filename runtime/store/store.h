#pragma once

// Everything that was measured, in a results folder: journals that are only appended to, and in memory what they say.
// One process writes (it holds the lease); readers write nothing and wait for nobody. A killed writer loses at most the
// trial that ran.

#include <llvm/Support/Error.h>

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

#include "runtime/plan/plan.h"
#include "runtime/store/journal.h"
#include "runtime/store/lease.h"
#include "runtime/store/match.h"
#include "runtime/store/records.h"

namespace expc::store {

/// All that the journals of a results folder say, as records in memory.
struct Contents {
  Contents() = default;
  Contents(Contents&&) = default;  // `attempts` points into `trials`, whose elements stay where they are
  Contents& operator=(Contents&&) = default;

  /// Reads `journals` of `folder`. The content of a damaged line, and what refers to it, is left out and told.
  static llvm::Expected<Contents> read(const std::string& folder, const Journals& journals,
                                       std::vector<DamagedLine>& damaged);

  /// Takes what an entry says. False if it refers to what is not there, or says twice what can be said once: then
  /// nothing of it is taken.
  bool take(Entry entry);

  /// Above every number of the study's blocks of a kind; 0 where there is none.
  uint64_t nextBlockNumber(const std::string& study, plan::TrialKind kind) const;
  /// The trials of a block, of whatever status, by id.
  std::vector<Trial> trialsOf(int64_t block) const;

  std::string name;  // the store's; "" where no journal is
  std::map<int64_t, Session> sessions;
  std::map<std::string, std::string> plans;  // texts by their hashes
  std::map<int64_t, Run> runs;               // of each, `plan_json` is the hash
  std::map<int64_t, BlockPlan> blocks;
  std::map<int64_t, Key> keys;
  std::map<int64_t, Trial> trials;  // their keys, blocks, sessions and runs are there; run 0: it is not known
  std::map<std::tuple<int64_t, unsigned, unsigned>, const Trial*> attempts;  // by block, position and attempt
  std::map<Origin, int64_t> adopted;                                         // our numbers
};

/// Whether anything was ever measured in this folder.
bool isStore(const std::string& folder);

/// Where the output of a command's trial is kept, below a results folder.
std::string keptOutput(const std::string& results, int64_t trial);
/// Takes what a trial's program wrote along to another folder, where the trial has another number; nothing where none
/// is kept.
llvm::Error copyOutput(const std::string& from, int64_t trial, const std::string& to, int64_t number);

/// "no results in 'DIR' …", with the way out.
llvm::Error noResults(const std::string& folder);

/// Reads the journals of a folder. An error too if there are none, with the way out.
llvm::Expected<Contents> readStore(const std::string& folder, const Journals& journals,
                                   std::vector<DamagedLine>& damaged);
/// Tells that some of the journals is damaged, if any is.
void tellDamaged(const std::string& folder, const std::vector<DamagedLine>& damaged,
                 std::vector<std::string>& messages);

class Store {
 public:
  /// Takes the lease of `folder` (made if missing) and reads the journals. What a dead engine left running is marked as
  /// interrupted. `messages` gets what the user should know (a stale lease taken over, lines that were damaged). Errors
  /// name the path and the way out.
  static llvm::Expected<Store> openForWriting(const std::string& folder, std::vector<std::string>& messages);

  /// A consistent view of all that has ended up to now, beside a live writer too.
  static llvm::Expected<Store> openForReading(const std::string& folder, std::vector<std::string>& messages);

  Store(Store&&) noexcept = default;

  /// The results that count for `plan`. Without `match`, the newest run of the same study in this store sets it, if
  /// that run put as many blocks beside each other as the plan does. If there is none, the results are empty and say
  /// why, also where trials of the points were measured for other studies. Results of simulated GPUs count only where
  /// there are no others.
  Results load(const plan::Plan& plan, const std::optional<Match>& match = std::nullopt) const;
  /// The results without a match; `null_cards`, if given, takes only runs on simulated GPUs, or only the others.
  Results loadLatest(const plan::Plan& plan, std::optional<bool> null_cards) const;
  /// Every trial of the plan's points that has ended, by whatever key, by id.
  std::vector<Trial> endedTrials(const plan::Plan& plan) const;
  /// Trials whose end is not recorded, by id; beside a living writer those that run.
  std::vector<Trial> unendedTrials() const;
  /// The run whose match load() takes. Null where there is none, like the next two.
  const Run* latestRun(const plan::Plan& plan) const;
  /// The newest session on the same nodes, in the same lane.
  const Session* latestSession(const SessionPlace& place) const;
  /// The newest block of the study in a session.
  const BlockPlan* latestBlock(int64_t session, std::string_view study) const;
  /// All that has been read and written.
  const Contents& contents() const { return contents_; }

  // Writing. Each call appends to the journal; what a trial measured is durable when settle returns.
  llvm::Expected<int64_t> addSession(Session session);
  llvm::Error touchSession(int64_t session, Moment at);
  llvm::Expected<int64_t> addRun(Run run);
  llvm::Error endRun(int64_t run, Moment at, Outcome outcome, JudgedPtr judged = nullptr);
  llvm::Expected<int64_t> addBlock(BlockPlan block);
  llvm::Expected<int64_t> beginTrial(const Trial& trial);
  /// Status, reason, log tail, seconds, metrics, series, environment and notes; also touches the session. It is on its
  /// way to the disk then, and there once settle() returns.
  llvm::Error endTrial(const Trial& trial, Moment at);
  /// Waits until the last trial that ended is durable. What the disk does not take is kept elsewhere, and the error
  /// says where.
  llvm::Error settle();
  /// Values of a trial that were read anew under another key: it is valid by that.
  llvm::Error reread(const Trial& trial);
  /// Notes that a record of another store is here now.
  llvm::Error adopt(Adopted entry);
  /// Starts a write that becomes visible as a whole once close() succeeded, and not at all before; nothing is read
  /// meanwhile.
  llvm::Error beginWhole();

  /// Lets the lease show that this process lives; an error when another process took it. A journal that somebody
  /// removed, replaced or cut is written once more from memory, and that is told.
  llvm::Error heartbeat();
  /// Sets the listener that is told what happened to the folder meanwhile.
  void onNews(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }
  /// Gives the lease back.
  llvm::Error close();

  const std::string& folder() const { return folder_; }
  /// The name that every copy of this store shares, and no other store has.
  const std::string& name() const { return name_; }
  /// The journals of before this process.
  const Journals& journals() const { return before_; }

 private:
  Store() = default;
  llvm::Error readJournals(std::vector<std::string>& messages);
  llvm::Error takeSpooled(std::vector<std::string>& messages);
  llvm::Error closeDead();
  llvm::Error append(const Entry& entry, OnDisk when = OnDisk::Sometime);
  llvm::Error keepElsewhere(llvm::Error error, const TrialEnded& end);
  llvm::Expected<int64_t> numberOf(const Key& key);
  llvm::Error writeAgain();
  llvm::Error keepRemoved(llvm::Error error, bool lost = false);

  std::string folder_;
  Contents contents_;
  Journals before_;  // the journals of others
  std::unique_ptr<JournalWriter> journal_;
  std::optional<TrialEnded> unsettled_;  // on its way to the disk
  bool whole_ = false;                   // our journal is there once we close
  std::string name_;
  std::map<TrialKey, int64_t> keys_;  // numbers
  std::set<std::string> plans_;
  std::optional<Lease> lease_;
  std::string kept_;  // where the lines of a journal are that was removed with its folder
  std::function<void(const std::string&)> tell_ = [](const std::string&) {};
};

/// A part of what a store holds of a study: one machine, one build, one time. What two of them say can be compared.
struct Part {
  std::optional<std::string> host;
  std::optional<int64_t> run;
  std::optional<std::string> build;     // how the worker's build begins
  std::optional<std::string> program;   // how a digest of the program or its data begins
  std::optional<double> since, before;  // Unix time of the start

  /// Whether a trial is of that run and of that time.
  bool has(const Trial& trial) const {
    return (!run || trial.run == *run) && (!since || trial.started >= *since) && (!before || trial.started < *before);
  }
};

struct PartResults {
  Results results;
  /// The plan of the run that they count for, where it is of the same study as the one asked about: what that machine
  /// could run and what not. Absent: the study was another one then, or is not read any more.
  std::optional<plan::Plan> plan;
  std::optional<unsigned> share;  // blocks that run put beside each other; absent where its plan is not read any more
  /// For a part that leaves out trials of earlier runs on its machine: the results with them. Verdicts on those trials
  /// were looks.
  std::optional<Results> with_earlier = std::nullopt;
};

/// "measured with --jobs 2; …" with what makes its trials count.
std::string measuredWithText(unsigned share);

/// The results of the newest run of the study that is of this part, and was measured in it; empty if no run is. Results
/// of simulated GPUs count only where there are no others.
std::optional<PartResults> loadPart(const Store& store, const plan::Plan& plan, const Part& part);

/// Everything that a store holds of a plan's points, whether it counts or not: what an export writes.
struct History {
  std::vector<Trial> trials;  // those that ended, by whatever key; by id
  std::map<int64_t, Block> blocks;
  std::map<int64_t, Session> sessions;
};

/// Every trial of the plan's points that has ended, and is of the part, with its block and session.
History history(const Store& store, const plan::Plan& plan, const Part& part = {});

}  // namespace expc::store
