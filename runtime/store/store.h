#pragma once

// Everything that was measured, in one SQLite file of a results folder. One process writes (it holds the lease);
// readers see snapshots. A killed writer loses at most the trial that ran.

#include <llvm/Support/Error.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/store/lease.h"
#include "runtime/store/records.h"

struct sqlite3;

namespace expc::store {

inline constexpr int kSchemaVersion = 2;
inline constexpr std::string_view kDatabaseName = "expc.sqlite";
inline constexpr std::string_view kSnapshotName = "snapshot.sqlite";

/// What must agree, besides id, kind and settings, for a stored trial to count (DESIGN §3).
struct Match {
  /// Of the workers that the plan needs: two words where some of its workloads are commands and some are not. A trial
  /// has one of them.
  std::string environment_class, worker_build;
  std::map<std::string, std::string> data_digests;  // data path as in Plan::data_paths, or commandKey -> digest
};

/// One execution of a plan.
struct Run {
  int64_t id = 0;
  std::string study, plan_digest, plan_json;
  int64_t session = 0;
  Match match;
  double started = 0, ended = 0;  // ended 0: never seen to end
  std::string outcome;            // "complete", "interrupted", …; "" while it runs
};

/// The order of a block, so that an interrupted one can be continued.
struct BlockPlan {
  Block block;
  std::string settings;             // canonical JSON of the kind's settings
  std::vector<std::string> points;  // places (placeOf) in running order
};

/// Those of `paths` (Plan::data_paths) that a point's parameters name.
std::set<std::string> dataPathsOf(const plan::Point& point, const std::vector<std::string>& paths);

/// The data digest of a trial: of the digests of the data that the point reads, and of its command's program and
/// inputs; "" when it reads none. For a command there follows a word for each of its expectations, and one for each
/// metric of the kind, which says how it is read: a corrected pattern makes another value.
std::string dataDigest(const plan::Plan& plan, const plan::Point& point, plan::TrialKind kind,
                       const std::map<std::string, std::string>& digests);

/// The key of a command's program and inputs in Match::data_digests.
std::string commandKey(const plan::Workload& workload);

/// The settings of `kind` as a trial stores them.
std::string settingsText(const plan::Plan& plan, plan::TrialKind kind);

class Store {
 public:
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();  // closes without publishing; call close()

  /// Takes the lease of `folder` (made if missing), opens or creates the database and marks what a dead engine left
  /// Running as Interrupted. `messages` gets what the user should know (a stale lease taken over). Errors name the path
  /// and the way out.
  static llvm::Expected<Store> openForWriting(const std::string& folder, std::vector<std::string>& messages);

  /// A consistent view for reading; never disturbs a live writer. With no writer it is the current state, else the last
  /// block end.
  static llvm::Expected<Store> openForReading(const std::string& folder, std::vector<std::string>& messages);

  /// What counts for `plan`. Without `match`, that of the newest run of the same study in this store; what ran on null
  /// cards only where nothing else did.
  llvm::Expected<Results> load(const plan::Plan& plan, const std::optional<Match>& match = std::nullopt) const;
  /// What counts by the newest run on null cards, or by the newest on others; nothing without one.
  llvm::Expected<Results> loadLatest(const plan::Plan& plan, bool null_cards) const;
  /// The newest of those that ran on null cards, or of those that did not.
  llvm::Expected<std::optional<Run>> latestRun(std::string_view study, bool null_cards) const;

  // Writing. Each call is one durable transaction.
  llvm::Expected<std::optional<Session>> latestSession() const;
  llvm::Expected<int64_t> addSession(const Session& session);
  llvm::Error touchSession(int64_t session, double now);
  llvm::Expected<int64_t> addRun(const Run& run);
  llvm::Error endRun(int64_t run, double now, std::string_view outcome);
  llvm::Expected<int64_t> addBlock(const BlockPlan& block);
  llvm::Expected<std::vector<BlockPlan>> blocksOfSession(int64_t session, std::string_view study) const;
  /// The next free number within study and kind.
  llvm::Expected<uint64_t> nextBlockNumber(std::string_view study, plan::TrialKind kind) const;
  /// Every trial of a block, of whatever status, by id.
  llvm::Expected<std::vector<Trial>> trialsOfBlock(int64_t block) const;
  llvm::Expected<int64_t> beginTrial(const Trial& trial);
  /// Status, reason, log tail, end, metrics, series, environment and notes, all at once; also touches the session.
  llvm::Error endTrial(const Trial& trial);

  /// Writes a snapshot for readers (backup API, then rename). Failing is harmless for what was measured.
  llvm::Error publishSnapshot();
  /// Lets the lease show that this process lives; an error when another process took it.
  llvm::Error heartbeat();
  /// Publishes, closes the database and gives the lease back.
  llvm::Error close();

  const std::string& folder() const { return folder_; }

 private:
  Store() = default;
  llvm::Error open(const std::string& path, bool writable, bool immutable);

  std::string folder_, path_;
  sqlite3* db_ = nullptr;
  std::optional<Lease> lease_;
};

}  // namespace expc::store
