#pragma once

// Everything that was measured, in a results folder: journals that are only appended to, and an index that is derived
// from them. One process writes (it holds the lease); readers write nothing and wait for nobody. A killed writer loses
// at most the trial that ran.

#include <llvm/Support/Error.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/store/database.h"
#include "runtime/store/journal.h"
#include "runtime/store/lease.h"
#include "runtime/store/match.h"
#include "runtime/store/records.h"

namespace expc::store {

inline constexpr int kSchemaVersion = 3;
inline constexpr std::string_view kDatabaseName = "expc.sqlite";

/// Whether anything was ever measured in this folder.
bool isStore(const std::string& folder);

/// "no results in 'DIR' …", with the way out.
llvm::Error noResults(const std::string& folder);

/// What verdicts on this plan are about, as the end of a run keeps it (Judged).
std::string judgedText(const plan::Plan& plan);

/// A database in memory with all that the journals hold; without journals, with what an older store holds.
llvm::Expected<Database> readStore(const std::string& folder, const std::vector<JournalFile>& journals,
                                   std::vector<DamagedLine>& damaged);

class Store {
 public:
  /// Takes the lease of `folder` (made if missing) and brings the index up to date; an index that is damaged, or does
  /// not fit the journals, is built anew, and a store of an older schema becomes journals first. What a dead engine
  /// left running is marked as interrupted. `messages` gets what the user should know (a stale lease taken over, lines
  /// that were damaged). Errors name the path and the way out.
  static llvm::Expected<Store> openForWriting(const std::string& folder, std::vector<std::string>& messages);

  /// A consistent view of all that has ended up to now, beside a live writer too.
  static llvm::Expected<Store> openForReading(const std::string& folder, std::vector<std::string>& messages);

  Store(Store&&) noexcept = default;
  Store& operator=(Store&&) noexcept = default;

  /// What counts for `plan`. Without `match`, that of the newest run of the same study in this store; what ran on null
  /// cards only where nothing else did.
  llvm::Expected<Results> load(const plan::Plan& plan, const std::optional<Match>& match = std::nullopt);
  /// What counts by the newest run on null cards, or by the newest on others; nothing without one.
  llvm::Expected<Results> loadLatest(const plan::Plan& plan, bool null_cards);
  /// Every trial of the plan's points that has ended, by whatever key, by id; with metrics and series.
  llvm::Expected<std::vector<Trial>> endedTrials(const plan::Plan& plan);
  /// The newest of those that ran on null cards, or of those that did not.
  llvm::Expected<std::optional<Run>> latestRun(std::string_view study, bool null_cards);
  /// Trials whose end is not recorded, by id; beside a living writer those that run. Without metrics and series.
  llvm::Expected<std::vector<Trial>> unendedTrials();
  /// The newest session on the same nodes, in the same lane.
  llvm::Expected<std::optional<Session>> latestSession(const SessionPlace& place);
  /// All of them, in their order.
  llvm::Expected<std::vector<Session>> sessions();
  llvm::Expected<std::vector<BlockPlan>> blocksOfSession(int64_t session, std::string_view study);
  /// Every trial of a block, of whatever status, by id; without metrics and series.
  llvm::Expected<std::vector<Trial>> trialsOfBlock(int64_t block);

  // Writing. Each call appends to the journal; what a trial measured is durable when settle returns.
  /// The next free number within study and kind.
  llvm::Expected<uint64_t> nextBlockNumber(const std::string& study, plan::TrialKind kind);
  llvm::Expected<int64_t> addSession(Session session);
  llvm::Error touchSession(int64_t session, Moment at);
  llvm::Expected<int64_t> addRun(Run run);
  /// `judged` is a text of judgedText, or "" where it is not known.
  llvm::Error endRun(int64_t run, Moment at, std::string_view outcome, std::string judged = "");
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
  /// What is written from now on is there once close() succeeded, and not at all before; nothing is read meanwhile.
  llvm::Error beginWhole();

  /// Lets the lease show that this process lives; an error when another process took it.
  llvm::Error heartbeat();
  /// Brings the index up to date and gives the lease back. An index that cannot be written is no error: whoever comes
  /// next reads the journals.
  llvm::Error close();

  const std::string& folder() const { return folder_; }
  Database& database() { return database_; }
  /// The same for every copy of this store, and for no other one.
  const std::string& name() const { return name_; }
  /// The journals of before this process.
  const std::vector<JournalFile>& journals() const { return before_; }

 private:
  Store() = default;
  llvm::Error openIndex(std::vector<std::string>& messages);
  llvm::Error rebuildIndex(std::vector<std::string>& messages);
  llvm::Error bringAlong(std::vector<std::string>& messages);
  llvm::Error takeSpooled(std::vector<std::string>& messages);
  llvm::Error closeDead();
  llvm::Error append(const Entry& entry, OnDisk when = OnDisk::Sometime);
  llvm::Error keepElsewhere(llvm::Error error, const TrialEnded& end);
  llvm::Expected<int64_t> numberOf(const Key& key);
  /// What this process wrote since it opened the store reaches the index when somebody asks.
  llvm::Error catchUp();
  void tellDamaged(const std::vector<DamagedLine>& damaged, std::vector<std::string>& messages) const;

  std::string folder_;
  Database database_;
  std::vector<JournalFile> before_;  // the journals of others
  std::optional<JournalWriter> journal_;
  std::optional<TrialEnded> unsettled_;  // on its way to the disk
  bool whole_ = false;                   // our journal is there once we close
  bool behind_ = false;                  // the index lacks what our journal holds
  std::string name_;
  int64_t sessions_ = 0, runs_ = 0, blocks_ = 0, trials_ = 0, last_key_ = 0;  // the largest numbers given
  std::map<TrialKey, int64_t> keys_;
  std::map<const TrialKey*, std::pair<Key, int64_t>> known_keys_;  // by address: most trials share theirs
  std::map<std::pair<std::string, plan::TrialKind>, uint64_t> next_block_;
  std::set<std::string> plans_;
  std::optional<Lease> lease_;
};

}  // namespace expc::store
