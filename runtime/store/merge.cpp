// `expc store merge`: what one store holds, taken over into another.

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/store/files.h"
#include "runtime/store/maintenance.h"
#include "runtime/store/rows.h"
#include "runtime/store/store.h"

namespace expc::store {
namespace {

/// Copies the records of one store into another under new numbers.
class Merger {
 public:
  Merger(Store& into, Database& from, std::string other, std::string name)
      : into_(into), from_(from), other_(std::move(other)), name_(std::move(name)) {}

  llvm::Expected<Merged> run() {
    auto error = eachAdopted(into_.database(), [&](const Adopted& entry) {
      known_[{entry.what, {entry.store, entry.theirs}}] = entry.ours;
    });
    if (error) return error;
    error = eachAdopted(
        from_, [&](const Adopted& entry) { origins_[{entry.what, entry.ours}] = {entry.store, entry.theirs}; });
    if (error) return error;
    if (auto error = each("session", kSessionColumns, [&](const Statement& row) { return session(row); })) return error;
    if (auto error = each("run", kRunColumns, [&](const Statement& row) { return run(row); })) return error;
    if (auto error = each("block", kBlockColumns, [&](const Statement& row) { return block(row); })) return error;
    if (auto error = readKeys()) return error;
    if (auto error = readPlaces()) return error;
    if (auto error = each("trial_row", (std::string(kTrialColumns) + ", key").c_str(),
                          [&](const Statement& row) { return trial(row); }))
      return error;
    return done_;
  }

 private:
  using Number = std::pair<std::string, int64_t>;  // what, and its number
  struct Origin {
    std::string store;
    int64_t number = 0;
    auto operator<=>(const Origin&) const = default;
  };
  using Origins = std::map<std::pair<std::string, Origin>, int64_t>;

  /// What a store has from others.
  static llvm::Error eachAdopted(Database& database, llvm::function_ref<void(const Adopted&)> take) {
    Statement statement(database.handle(), database.path(), "SELECT store, what, theirs, ours FROM adopted");
    while (statement.step()) take({statement.text(0), statement.text(1), statement.integer(2), statement.integer(3)});
    return statement.take();
  }

  llvm::Error each(const char* table, const char* columns, llvm::function_ref<llvm::Error(const Statement&)> take) {
    Statement statement(from_.handle(), from_.path(),
                        fmt::format("SELECT {} FROM {} ORDER BY id", columns, table).c_str());
    while (statement.step())
      if (auto error = take(statement)) return error;
    return statement.take();
  }

  /// Where a record came into being: in the other store, or where that has it from.
  Origin originOf(const std::string& what, int64_t theirs) const {
    const auto found = origins_.find({what, theirs});
    return found == origins_.end() ? Origin{name_, theirs} : found->second;
  }

  /// Our number of a record of theirs that is here already; 0: it is not.
  int64_t ours(const std::string& what, int64_t theirs) const {
    const Origin origin = originOf(what, theirs);
    if (origin.store == into_.name()) return origin.number;  // they have it from us
    const auto found = known_.find({what, origin});
    return found == known_.end() ? 0 : found->second;
  }

  llvm::Error adopt(const std::string& what, int64_t theirs, llvm::Expected<int64_t> ours, uint64_t& count) {
    if (!ours) return ours.takeError();
    const Origin origin = originOf(what, theirs);
    known_[{what, origin}] = *ours;
    ++count;
    return into_.adopt({origin.store, what, origin.number, *ours});
  }

  llvm::Error session(const Statement& row) {
    Session session = readSession(row);
    if (ours("session", session.id)) return llvm::Error::success();
    const int64_t theirs = session.id;
    return adopt("session", theirs, into_.addSession(std::move(session)), done_.sessions);
  }

  llvm::Error run(const Statement& row) {
    Run run = readRun(row);
    if (run.outcome.empty() || ours("run", run.id)) return llvm::Error::success();
    Statement plan(from_.handle(), from_.path(), "SELECT text FROM plan WHERE hash = ?1");
    plan.bind({run.plan_json});
    run.plan_json = plan.step() ? plan.text(0) : "";
    if (auto error = plan.take()) return error;
    const int64_t theirs = run.id;
    run.session = ours("session", run.session);
    auto number = into_.addRun(run);
    if (!number) return number.takeError();
    if (auto error = into_.endRun(*number, run.ended, run.outcome, run.judged)) return error;
    return adopt("run", theirs, *number, done_.runs);
  }

  llvm::Error block(const Statement& row) {
    BlockPlan block = readBlock(row);
    if (ours("block", block.block.id)) return llvm::Error::success();
    const int64_t theirs = block.block.id;
    block.block.session = ours("session", block.block.session);
    return adopt("block", theirs, into_.addBlock(std::move(block)), done_.blocks);
  }

  llvm::Error readKeys() {
    return each("trial_key", kKeyColumns, [&](const Statement& row) {
      keys_[row.integer(0)] = table_.intern(readKey(row));
      return llvm::Error::success();
    });
  }

  /// Trials that are here already, by where they stand in their block.
  llvm::Error readPlaces() {
    Database& ours = into_.database();
    Statement rows(ours.handle(), ours.path(), "SELECT block, position, attempt, id, started, status FROM trial_row");
    while (rows.step())
      here_[{rows.integer(0), rows.integer(1), rows.integer(2)}] = {rows.integer(3), rows.real(4), rows.text(5)};
    return rows.take();
  }

  llvm::Error trial(const Statement& row) {
    Trial trial = readTrial(row);
    if (trial.status == TrialStatus::Running) return llvm::Error::success();
    const int64_t theirs = trial.id;
    if (ours("trial", theirs)) {
      ++done_.known;
      return llvm::Error::success();
    }
    trial.key = keys_[row.integer(15)];
    trial.session = ours("session", trial.session);
    trial.block = ours("block", trial.block);
    trial.run = ours("run", trial.run);
    if (auto error = readValues(from_.handle(), from_.path(), theirs, trial)) return error;
    // An older expc may have been killed before it noted the trial, or in the middle of it.
    for (auto at = here_.find({trial.block, trial.position, trial.attempt}); at != here_.end();
         at = here_.find({trial.block, trial.position, ++trial.attempt}))
      if (std::get<double>(at->second) == trial.started && std::get<std::string>(at->second) == toString(trial.status))
        return adopt("trial", theirs, std::get<int64_t>(at->second), done_.known);
    here_[{trial.block, trial.position, trial.attempt}] = {};
    auto number = into_.beginTrial(trial);
    if (!number) return number.takeError();
    trial.id = *number;
    if (auto error = into_.endTrial(trial, {trial.started + trial.seconds, 0})) return error;
    copyOutput(other_, theirs, into_.folder(), *number);
    return adopt("trial", theirs, *number, done_.trials);
  }

  Store& into_;
  Database& from_;
  const std::string other_, name_;    // the folder that `from_` is of, and its store's name
  Origins known_;                     // origin -> our number
  std::map<Number, Origin> origins_;  // their number -> origin
  std::map<std::tuple<int64_t, int64_t, int64_t>, std::tuple<int64_t, double, std::string>> here_;
  KeyTable table_;
  std::map<int64_t, Key> keys_;
  Merged done_;
};

}  // namespace

llvm::Expected<Merged> merge(const std::string& folder, const std::string& other, std::vector<std::string>& messages) {
  auto journals = listJournals(other);
  if (!journals) return journals.takeError();
  std::vector<DamagedLine> damaged;
  auto theirs = readStore(other, *journals, damaged);  // an index of a stranger may lie
  if (!theirs) return theirs.takeError();
  if (!damaged.empty())
    messages.push_back(fmt::format("{}: {} lines are left out: {}", other, damaged.size(), damaged[0].why));
  auto into = Store::openForWriting(folder, messages);
  if (!into) return into.takeError();
  auto name = theirs->storeName();
  if (!name) return name.takeError();
  if (name->empty())
    return llvm::createStringError(fmt::format(
        "'{}' was written by an older expc and has no name of its own yet: `expc store compact {}` gives it one", other,
        other));
  if (*name == into->name()) {
    return llvm::createStringError(
        fmt::format("'{}' is a copy of '{}', or this is a copy of it: what one of them measured since cannot be told "
                    "from what the other did",
                    other, folder));
  }
  if (auto error = into->beginWhole()) return error;
  auto merged = Merger(*into, *theirs, other, *name).run();
  if (!merged) return merged.takeError();
  if (auto error = into->close()) return error;
  return merged;
}

}  // namespace expc::store
