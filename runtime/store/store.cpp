#include "runtime/store/store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "runtime/store/files.h"
#include "runtime/store/legacy.h"
#include "runtime/store/spool.h"

namespace expc::store {
namespace {

std::string databasePath(const std::string& folder) { return folder + "/" + std::string(kDatabaseName); }

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// As SQLite names what lies beside a database while it changes.
void removeDatabase(const std::string& path) {
  for (const char* suffix : {"", "-journal", "-wal"}) unlink((path + suffix).c_str());
}

llvm::Error damagedError(const std::string& path) {
  return llvm::createStringError(
      fmt::format("{}: is damaged, and no journals lie beside it; move it away (mv '{}' '{}.damaged') and start anew",
                  path, path, path));
}

/// An index is made of journals, so one with trials and without journals is the last that is left of them: nothing may
/// be built in its place.
llvm::Error refuseWithoutJournals(const Database& index, const std::string& folder) {
  auto trials = index.largest("trial_row");
  if (!trials) return trials.takeError();
  if (*trials == 0) return llvm::Error::success();
  return llvm::createStringError(
      fmt::format("{} holds {} trials, and the journals that they are from are gone: put '{}/{}' back, or move the "
                  "file away to begin "
                  "anew without them",
                  databasePath(folder), *trials, folder, kJournalFolder));
}

}  // namespace

llvm::Error noResults(const std::string& folder) {
  return llvm::createStringError(
      fmt::format("no results in '{}': run the study first, or name the folder that has them", folder));
}

llvm::Expected<Database> readStore(const std::string& folder, const std::vector<JournalFile>& journals,
                                   std::vector<DamagedLine>& damaged) {
  auto memory = Database::inMemory();
  if (!memory) return memory.takeError();
  if (!journals.empty()) {
    if (auto error = memory->take(folder, journals, damaged)) return error;
    return memory;
  }
  // Without journals only an older store holds anything; a newer one is about to be made.
  if (!exists(databasePath(folder)) || Lease::isLive(folder) || pagesBeforeChange(databasePath(folder)) == 0)
    return noResults(folder);
  auto old = Database::openForReading(databasePath(folder));
  if (!old) return old.takeError();
  if (old->state() == SchemaState::Damaged) return damagedError(databasePath(folder));
  if (old->state() == SchemaState::New) return noResults(folder);  // its run was killed before it held a table
  if (old->state() != SchemaState::Older) {
    llvm::Error gone = refuseWithoutJournals(*old, folder);
    return gone ? std::move(gone) : noResults(folder);
  }
  auto error = transaction(memory->handle(), memory->path(), [&] {
    return readLegacy(old->handle(), old->path(), [&](Entry&& entry) { return memory->apply(entry).takeError(); });
  });
  if (error) return error;
  return memory;
}

bool isStore(const std::string& folder) {
  return exists(databasePath(folder)) || exists(fmt::format("{}/{}", folder, kJournalFolder));
}

void Store::tellDamaged(const std::vector<DamagedLine>& damaged, std::vector<std::string>& messages) const {
  if (damaged.empty()) return;
  const DamagedLine& first = damaged.front();
  messages.push_back(
      fmt::format("{} line{} of the journals in '{}' {} left out: what they held does not count (the first: {}{}: {})",
                  damaged.size(), damaged.size() == 1 ? "" : "s", folder_, damaged.size() == 1 ? "is" : "are",
                  first.journal, first.line ? fmt::format(" line {}", first.line) : "", first.why));
}

llvm::Expected<Store> Store::openForReading(const std::string& folder, std::vector<std::string>& messages) {
  Store store;
  store.folder_ = folder;
  const bool live = Lease::isLive(folder);
  auto journals = listJournals(folder);
  if (!journals) return journals.takeError();
  if (live) messages.push_back(fmt::format("a run is at work in '{}': this is what it has measured so far", folder));
  if (!live && !journals->empty() && exists(databasePath(folder))) {
    // Beside a live writer the file may change at any moment.
    auto database = Database::openForReading(databasePath(folder));
    auto current = database ? database->isCurrent(*journals) : llvm::Expected<bool>(database.takeError());
    if (current && *current) {
      store.database_ = std::move(*database);
      return store;
    }
    if (!current) llvm::consumeError(current.takeError());  // the journals say the same
  }
  std::vector<DamagedLine> damaged;
  auto memory = readStore(folder, *journals, damaged);
  if (!memory) return memory.takeError();
  store.database_ = std::move(*memory);
  store.tellDamaged(damaged, messages);
  return store;
}

llvm::Expected<Store> Store::openForWriting(const std::string& folder, std::vector<std::string>& messages) {
  if (auto error = makeFolder(folder)) return error;
  auto lease = Lease::acquire(folder, "run", messages);
  if (!lease) return lease.takeError();
  Store store;
  store.folder_ = folder;
  store.lease_.emplace(std::move(*lease));
  if (auto error = store.openIndex(messages)) return error;
  if (auto error = store.takeSpooled(messages)) return error;
  if (auto error = store.closeDead()) return error;
  return store;
}

llvm::Error Store::openIndex(std::vector<std::string>& messages) {
  std::set<std::string> replaced;
  auto journals = listJournals(folder_, &replaced);
  if (!journals) return journals.takeError();
  before_ = std::move(*journals);
  for (const std::string& name : replaced) unlink(fmt::format("{}/{}/{}", folder_, kJournalFolder, name).c_str());
  const std::string path = databasePath(folder_);
  // SQLite would roll back what lies beside it, and remove a file that this names. The journals say the same.
  if (const auto pages = pagesBeforeChange(path); pages && (*pages == 0 || !before_.empty())) removeDatabase(path);
  auto database = Database::openForWriting(path);
  if (!database) {
    if (before_.empty()) return database.takeError();
    llvm::consumeError(database.takeError());
    const std::string aside = path + ".damaged";
    if (rename(path.c_str(), aside.c_str()) != 0) return cannotWrite(folder_, errno);
    messages.push_back(
        fmt::format("{} was no index of ours: it is '{}' now, and another is built from the journals", path, aside));
    if (auto error = rebuildIndex(messages)) return error;
  } else {
    database_ = std::move(*database);
    if (database_.state() == SchemaState::Older) {
      if (auto error = bringAlong(messages)) return error;
    } else if (before_.empty() && database_.state() == SchemaState::Damaged) {
      return damagedError(path);
    }
    if (before_.empty())
      if (auto gone = refuseWithoutJournals(database_, folder_)) return gone;
    auto prefix = database_.isPrefix(before_);
    if (!prefix) return prefix.takeError();
    if (*prefix) {
      std::vector<DamagedLine> damaged;
      if (auto error = database_.take(folder_, before_, damaged)) return error;
      tellDamaged(damaged, messages);
    } else if (auto error = rebuildIndex(messages)) {
      return error;
    }
  }
  auto name = database_.storeName();
  if (!name) return name.takeError();
  name_ = name->empty() ? newStoreName() : *name;
  for (const auto& [table, number] :
       {std::pair("session", &sessions_), std::pair("run", &runs_), std::pair("block", &blocks_),
        std::pair("trial_row", &trials_), std::pair("trial_key", &last_key_)}) {
    auto largest = database_.largest(table);
    if (!largest) return largest.takeError();
    *number = *largest;
  }
  auto keys = database_.keys();
  if (!keys) return keys.takeError();
  keys_ = std::move(*keys);
  return llvm::Error::success();
}

/// Under a new name first, so that a reader and an earlier holder of the lease keep what they have open.
llvm::Error Store::rebuildIndex(std::vector<std::string>& messages) {
  const std::string path = databasePath(folder_), fresh = path + ".new";
  database_ = Database();
  removeDatabase(fresh);
  auto database = Database::openForWriting(fresh);
  if (!database) return database.takeError();
  std::vector<DamagedLine> damaged;
  if (auto error = database->take(folder_, before_, damaged)) return error;
  tellDamaged(damaged, messages);
  *database = Database();
  removeDatabase(path);
  if (rename(fresh.c_str(), path.c_str()) != 0) return cannotWrite(folder_, errno);
  auto renamed = Database::openForWriting(path);
  if (!renamed) return renamed.takeError();
  database_ = std::move(*renamed);
  return llvm::Error::success();
}

/// A store of before there were journals gets one with all that it holds, and is kept beside it. The folder of journals
/// comes into being with all that is in it.
llvm::Error Store::bringAlong(std::vector<std::string>& messages) {
  const std::string path = databasePath(folder_), kept = path + ".before-journals", made = folder_ + "/journal.new";
  std::error_code ignored;
  if (before_.empty()) {
    std::filesystem::remove_all(made, ignored);
    auto journal = JournalWriter::create(made, {}, newStoreName());
    if (!journal) return journal.takeError();
    const auto add = [&](Entry&& entry) { return journal->append(entry, OnDisk::Sometime); };
    if (auto error = readLegacy(database_.handle(), path, add)) return error;
    if (auto error = journal->sync()) return error;
    const std::string from = fmt::format("{}/{}", made, kJournalFolder),
                      to = fmt::format("{}/{}", folder_, kJournalFolder);
    if (rename(from.c_str(), to.c_str()) != 0) return cannotWrite(folder_, errno);
    std::filesystem::remove_all(made, ignored);
  }
  database_ = Database();
  if (rename(path.c_str(), kept.c_str()) != 0) return cannotWrite(folder_, errno);
  messages.push_back(fmt::format(
      "the store in '{}' was of an older schema: it is a journal now, and '{}' is kept as it was", folder_, kept));
  auto journals = listJournals(folder_);
  if (!journals) return journals.takeError();
  before_ = std::move(*journals);
  auto database = Database::openForWriting(path);
  if (!database) return database.takeError();
  database_ = std::move(*database);
  return llvm::Error::success();
}

/// What an earlier run had no room for. It began in a journal that lies here; it ends in ours.
llvm::Error Store::takeSpooled(std::vector<std::string>& messages) {
  std::vector<Entry> entries = spooled(name_);
  if (entries.empty()) return llvm::Error::success();
  {  // One that was killed may have taken it, and not come to drop it.
    Statement running(database_.handle(), database_.path(),
                      "SELECT 1 FROM trial_row WHERE id = ?1 AND status = 'running'");
    std::erase_if(entries, [&](const Entry& entry) {
      const auto* end = std::get_if<TrialEnded>(&entry);
      return !end || !running.bind({end->trial.id}).step();
    });
    if (auto error = running.take()) return error;
  }
  for (const Entry& entry : entries)
    if (auto error = append(entry, &entry == &entries.back() ? OnDisk::Now : OnDisk::Sometime)) return error;
  dropSpool(name_);
  if (entries.empty()) return llvm::Error::success();
  messages.push_back(fmt::format("{} trial{} that the disk had no room for {} in the store now", entries.size(),
                                 entries.size() == 1 ? "" : "s", entries.size() == 1 ? "is" : "are"));
  return catchUp();
}

/// What a dead engine was doing has no end of its own: the last sign of life of its session stands in.
llvm::Error Store::closeDead() {
  std::vector<TrialEnded> trials;
  {
    Statement statement(database_.handle(), database_.path(),
                        "SELECT trial_row.id, session, last_seen, last_seen_boot FROM trial_row JOIN session ON "
                        "session.id = session WHERE status = 'running'");
    while (statement.step()) {
      TrialEnded end;
      end.trial.id = statement.integer(0);
      end.trial.session = statement.integer(1);
      end.trial.status = TrialStatus::Interrupted;
      end.trial.reason = "expc died while it ran";
      end.trial.environment_json = "{}";
      end.at = {statement.real(2), statement.real(3)};
      trials.push_back(std::move(end));
    }
    if (auto error = statement.take()) return error;
  }
  std::vector<int64_t> runs;
  {
    Statement statement(database_.handle(), database_.path(), "SELECT id FROM run WHERE outcome = ''");
    while (statement.step()) runs.push_back(statement.integer(0));
    if (auto error = statement.take()) return error;
  }
  for (const TrialEnded& end : trials)
    if (auto error = append(end)) return error;
  for (const int64_t run : runs)
    if (auto error = append(RunEnded{run, {}, "killed"})) return error;
  return llvm::Error::success();
}

llvm::Error Store::heartbeat() { return lease_ ? lease_->heartbeat() : llvm::Error::success(); }

llvm::Error Store::catchUp() {
  if (!behind_) return llvm::Error::success();
  std::vector<DamagedLine> damaged;
  if (auto error = database_.take(folder_, {journal_->file()}, damaged)) return error;
  behind_ = false;
  return llvm::Error::success();
}

llvm::Error Store::close() {
  llvm::Error error = settle();
  if (!error) error = heartbeat();  // the index of a folder that was taken over is another's to write
  if (!error && whole_ && journal_) error = journal_->publish();
  if (!error) llvm::consumeError(catchUp());
  database_ = Database();
  journal_.reset();
  lease_.reset();
  return error;
}

}  // namespace expc::store
