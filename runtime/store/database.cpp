#include "runtime/store/database.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/store/entry_writer.h"
#include "runtime/store/rows.h"

namespace expc::store {

Database::Database() = default;
Database::Database(Database&& other) noexcept { *this = std::move(other); }

Database& Database::operator=(Database&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(db_, other.db_);
  std::swap(state_, other.state_);
  std::swap(writer_, other.writer_);
  return *this;
}

Database::~Database() {
  writer_.reset();
  sqlite3_close_v2(db_);
}

llvm::Error Database::open(const std::string& path, int flags) {
  path_ = path;
  if (auto error = openDatabase(db_, path, flags)) return error;
  auto state = schemaOf(db_, path_);
  if (!state) return state.takeError();
  state_ = *state;
  return llvm::Error::success();
}

llvm::Expected<Database> Database::inMemory() {
  Database database;
  if (auto error = database.open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) return error;
  if (auto error = createSchema(database.db_, database.path_)) return error;
  if (auto error = execute(database.db_, database.path_, "PRAGMA foreign_keys=ON")) return error;
  database.state_ = SchemaState::Current;
  return database;
}

llvm::Expected<Database> Database::openForWriting(const std::string& path) {
  Database database;
  if (auto error = database.open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) return error;
  if (database.state_ == SchemaState::New) {
    // As one: a process that is killed meanwhile leaves an empty file.
    auto error = transaction(database.db_, path, [&] { return createSchema(database.db_, path); });
    if (error) return error;
    database.state_ = SchemaState::Current;
  }
  // What is lost of it with the power is found out by isCurrent and taken again.
  if (auto error = execute(database.db_, path,
                           "PRAGMA locking_mode=EXCLUSIVE; PRAGMA foreign_keys=ON; PRAGMA synchronous=NORMAL;"))
    return error;
  return database;
}

llvm::Expected<Database> Database::openForReading(const std::string& path) {
  Database database;
  if (auto error = database.open(path, SQLITE_OPEN_READONLY)) return error;
  return database;
}

llvm::Expected<std::map<std::string, Applied>> Database::applied() const {
  std::map<std::string, Applied> applied;
  Statement statement(db_, path_, "SELECT name, bytes, sum FROM journal");
  while (statement.step())
    applied[statement.text(0)] = {uint64_t(statement.integer(1)), uint32_t(statement.integer(2))};
  if (auto error = statement.take()) return error;
  return applied;
}

llvm::Expected<bool> Database::isCurrent(const std::vector<JournalFile>& journals) const {
  if (state_ != SchemaState::Current) return false;
  auto held = applied();
  if (!held) return held.takeError();
  if (held->size() != journals.size()) return false;
  for (const JournalFile& journal : journals) {
    const auto found = held->find(journal.name);
    if (found == held->end() || found->second.bytes != journal.bytes || found->second.sum != journal.sum) return false;
  }
  return true;
}

llvm::Expected<bool> Database::isPrefix(const std::vector<JournalFile>& journals) const {
  if (state_ != SchemaState::Current) return false;
  auto held = applied();
  if (!held) return held.takeError();
  size_t known = 0;
  bool behind = false;  // journals are taken in order and whole, so behind one that is missing there is none
  for (const JournalFile& journal : journals) {
    const auto found = held->find(journal.name);
    if (found == held->end()) {
      behind = true;
      continue;
    }
    const bool whole = found->second.bytes == journal.bytes && found->second.sum == journal.sum;
    if (behind || !whole) return false;
    ++known;
  }
  return known == held->size();
}

llvm::Error Database::note(const JournalFile& journal) {
  Statement statement(db_, path_, "INSERT OR REPLACE INTO journal(name, epoch, bytes, sum) VALUES(?1, ?2, ?3, ?4)");
  statement.bind({journal.name, int64_t(journal.epoch), int64_t(journal.bytes), int64_t(journal.sum)}).step();
  return statement.take();
}

llvm::Error Database::take(const std::string& folder, const std::vector<JournalFile>& journals,
                           std::vector<DamagedLine>& damaged) {
  return transaction(db_, path_, [&]() -> llvm::Error {
    auto held = applied();
    if (!held) return held.takeError();
    for (const JournalFile& journal : journals) {
      const uint64_t from = (*held)[journal.name].bytes;
      if (from == journal.bytes && from != 0) continue;
      uint64_t lost = 0;
      auto error = readJournal(
          folder, journal, from,
          [&](Entry&& entry) -> llvm::Error {
            auto taken = apply(entry);
            if (!taken) return taken.takeError();
            lost += !*taken;
            return llvm::Error::success();
          },
          damaged);
      if (error) return error;
      if (lost > 0)
        damaged.push_back(
            {journal.name, 0, fmt::format("{} entries refer to what is not there, or say it twice", lost)});
      if (auto failed = note(journal)) return failed;
    }
    return llvm::Error::success();
  });
}

llvm::Expected<bool> Database::apply(const Entry& entry) {
  if (!writer_) writer_ = std::make_unique<EntryWriter>(db_, path_);
  return writer_->apply(entry);
}

llvm::Expected<int64_t> Database::largest(const char* table) const {
  Statement statement(db_, path_, fmt::format("SELECT coalesce(max(id), 0) FROM {}", table).c_str());
  const int64_t result = statement.step() ? statement.integer(0) : 0;
  if (auto error = statement.take()) return error;
  return result;
}

llvm::Expected<std::string> Database::storeName() const {
  Statement statement(db_, path_, "SELECT name FROM store");
  std::string name = statement.step() ? statement.text(0) : "";
  if (auto error = statement.take()) return error;
  return name;
}

llvm::Expected<std::map<TrialKey, int64_t>> Database::keys() const {
  std::map<TrialKey, int64_t> keys;
  Statement statement(db_, path_, fmt::format("SELECT {} FROM trial_key", kKeyColumns).c_str());
  while (statement.step()) keys[readKey(statement)] = statement.integer(0);
  if (auto error = statement.take()) return error;
  return keys;
}

llvm::Expected<std::vector<std::string>> Database::dump() const {
  std::vector<std::string> rows;
  for (const char* table :
       {"store", "session", "plan", "run", "block", "trial_key", "trial_row", "metric_value", "series", "adopted"}) {
    Statement statement(db_, path_, fmt::format("SELECT * FROM {}", table).c_str());
    while (statement.step()) {
      std::string row = table;
      for (int column = 0; column < statement.columns(); ++column) row += "\x1f" + statement.text(column);
      rows.push_back(std::move(row));
    }
    if (auto error = statement.take()) return error;
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace expc::store
