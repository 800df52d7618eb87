#include "runtime/store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "runtime/store/files.h"
#include "runtime/store/schema.h"
#include "runtime/store/sqlite.h"

namespace expc::store {
namespace {

// No file locks: the lease keeps others out, and locks are not to be trusted on network file systems.
constexpr const char* kVfs = "unix-none";

std::string fileUri(const std::string& path) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '?' || c == '#' || c == '%') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/// Does a killed writer's transaction wait to be undone? In exclusive mode the journal of a finished one has a zeroed
/// head.
bool hasHotJournal(const std::string& path) {
  std::ifstream journal(path + "-journal", std::ios::binary);
  char first = 0;
  return journal.get(first) && first != 0;
}

/// Is the snapshot at least as new as the database?
bool isFresh(const std::string& snapshot, const std::string& path) {
  struct stat a{}, b{};
  if (stat(snapshot.c_str(), &a) != 0 || stat(path.c_str(), &b) != 0) return false;
  if (a.st_mtim.tv_sec != b.st_mtim.tv_sec) return a.st_mtim.tv_sec > b.st_mtim.tv_sec;
  return a.st_mtim.tv_nsec >= b.st_mtim.tv_nsec;
}

}  // namespace

std::string_view toString(TrialStatus status) {
  switch (status) {
    case TrialStatus::Running:
      return "running";
    case TrialStatus::Valid:
      return "valid";
    case TrialStatus::Failed:
      return "failed";
    case TrialStatus::Timeout:
      return "timeout";
    case TrialStatus::Infeasible:
      return "infeasible";
    case TrialStatus::Interrupted:
      return "interrupted";
  }
  return "failed";
}

Store::Store(Store&& other) noexcept
    : folder_(std::move(other.folder_)),
      path_(std::move(other.path_)),
      db_(other.db_),
      lease_(std::move(other.lease_)) {
  other.db_ = nullptr;
  other.lease_.reset();
}

Store& Store::operator=(Store&& other) noexcept {
  if (this != &other) {
    sqlite3_close_v2(db_);
    folder_ = std::move(other.folder_);
    path_ = std::move(other.path_);
    db_ = other.db_;
    other.db_ = nullptr;
    lease_ = std::move(other.lease_);
    other.lease_.reset();
  }
  return *this;
}

Store::~Store() { sqlite3_close_v2(db_); }

llvm::Error Store::open(const std::string& path, bool writable, bool immutable) {
  path_ = path;
  std::string name = immutable ? fileUri(path) : path;
  int flags = writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  if (immutable) flags |= SQLITE_OPEN_URI;
  int code = sqlite3_open_v2(name.c_str(), &db_, flags, kVfs);
  if (code != SQLITE_OK) return sqliteError(db_, path_, code);
  sqlite3_extended_result_codes(db_, 1);
  if (writable) {
    if (auto error =
            execute(db_, path_, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA foreign_keys=ON; PRAGMA synchronous=FULL;"))
      return error;
  }
  return checkSchema(db_, path_, writable);
}

llvm::Expected<Store> Store::openForWriting(const std::string& folder, std::vector<std::string>& messages) {
  if (auto error = makeFolder(folder)) return error;
  auto lease = Lease::acquire(folder, "run", messages);
  if (!lease) return lease.takeError();
  Store store;
  store.folder_ = folder;
  store.lease_.emplace(std::move(*lease));
  if (auto error = store.open(folder + "/" + std::string(kDatabaseName), true, false)) return error;
  if (auto error = createSchema(store.db_, store.path_)) return error;
  // What a dead engine was doing has no end of its own: the last sign of life of its session stands in.
  const char* close_dead =
      "UPDATE trial SET status = 'interrupted', reason = 'expc died while it ran', ended = max(started, (SELECT "
      "last_seen FROM "
      "session WHERE id = trial.session)) WHERE status = 'running';"
      "UPDATE run SET outcome = 'killed' WHERE outcome = '';";
  auto error = transaction(store.db_, store.path_, [&] { return execute(store.db_, store.path_, close_dead); });
  if (error) return error;
  return store;
}

llvm::Expected<Store> Store::openForReading(const std::string& folder, std::vector<std::string>& messages) {
  std::string path = folder + "/" + std::string(kDatabaseName), snapshot = folder + "/" + std::string(kSnapshotName);
  if (!exists(path)) {
    return llvm::createStringError(
        fmt::format("no results in '{}' (no {} there): run the study first, or name the folder with --results DIR",
                    folder, kDatabaseName));
  }
  Store store;
  store.folder_ = folder;
  if (Lease::isLive(folder)) {
    if (!exists(snapshot)) {
      return llvm::createStringError(
          fmt::format("a run is at work in '{}' and has not finished its first block: try again later", folder));
    }
    messages.push_back(fmt::format("a run is at work in '{}': this is the state at the end of its last block", folder));
  } else if (hasHotJournal(path) || !isFresh(snapshot, path)) {
    std::vector<std::string> ignored;
    auto lease = Lease::acquire(folder, "report", ignored);
    if (!lease) {
      if (hasHotJournal(path)) return lease.takeError();
      llvm::consumeError(lease.takeError());  // a folder to look at only: read the file itself
      if (auto error = store.open(path, false, true)) return error;
      return store;
    }
    Store writer;
    writer.folder_ = folder;
    writer.lease_.emplace(std::move(*lease));
    if (auto error = writer.open(path, true, false)) return error;
    if (auto error = createSchema(writer.db_, writer.path_)) return error;
    if (auto error = writer.close()) return error;
  }
  if (auto error = store.open(snapshot, false, true)) return error;
  return store;
}

llvm::Error Store::publishSnapshot() {
  std::string target = folder_ + "/" + std::string(kSnapshotName), temporary = target + ".new";
  unlink(temporary.c_str());
  sqlite3* copy = nullptr;
  int code = sqlite3_open_v2(temporary.c_str(), &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, kVfs);
  if (code == SQLITE_OK) {
    // Nobody sees the copy before it is whole: no journal needed.
    llvm::consumeError(execute(copy, temporary, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"));
    sqlite3_backup* backup = sqlite3_backup_init(copy, "main", db_, "main");
    if (backup) sqlite3_backup_step(backup, -1);
    code = backup ? sqlite3_backup_finish(backup) : sqlite3_errcode(copy);
  }
  llvm::Error error = code == SQLITE_OK ? llvm::Error::success() : sqliteError(copy, temporary, code);
  sqlite3_close(copy);
  if (!error) {
    int fd = ::open(temporary.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fsync(fd) != 0 || rename(temporary.c_str(), target.c_str()) != 0) error = cannotWrite(folder_, errno);
    if (fd >= 0) ::close(fd);
  }
  if (error) unlink(temporary.c_str());
  return error;
}

llvm::Error Store::heartbeat() { return lease_ ? lease_->heartbeat() : llvm::Error::success(); }

llvm::Error Store::close() {
  llvm::Error error = llvm::Error::success();
  if (db_ && lease_) error = heartbeat();  // a folder that was taken over is another's to publish
  if (db_ && lease_ && !error) {
    // Folding the journal away first keeps the snapshot newer than the database.
    error = execute(db_, path_, "PRAGMA locking_mode=NORMAL; SELECT count(*) FROM sqlite_master;");
    if (!error) error = publishSnapshot();
  }
  sqlite3_close_v2(db_);
  db_ = nullptr;
  lease_.reset();
  return error;
}

}  // namespace expc::store
