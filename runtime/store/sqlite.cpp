#include "runtime/store/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/Support/Endian.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace expc::store {
namespace {

std::string explain(const std::string& path, int code, std::string_view said) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return fmt::format(
          "{}: the disk is full; free some space and run the same command again: what was measured before is kept",
          path);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
      return fmt::format(
          "{}: cannot be opened for writing ({}); make it and its folder writable, or choose another folder with "
          "--results DIR",
          path, said);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return fmt::format(
          "{}: is no intact database ({}); move it away (mv '{}' '{}.damaged'): if journals lie beside it, it is built "
          "anew from them",
          path, said, path, path);
    case SQLITE_IOERR:
      return fmt::format(
          "{}: reading or writing failed ({}); check the disk (space, quota, network) and run the same command "
          "again: what was measured before is kept",
          path, said);
    default:
      return fmt::format("{}: {} (SQLite code {})", path, said, code);
  }
}

/// As a URI of a file that does not change, so that SQLite looks for no locks and no journal beside it.
std::string immutableUri(const std::string& path) {
  std::string uri = "file:";
  for (char c : path) {
    if (c == '?' || c == '#' || c == '%')
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      uri += c;
  }
  return uri + "?immutable=1";
}

/// The same file without links in the folders that lead to it, which are the user's: SQLite would refuse these too.
std::string withoutLinks(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path folder =
      std::filesystem::canonical(std::filesystem::absolute(path).parent_path(), failed);
  return failed ? path : (folder / std::filesystem::path(path).filename()).string();
}

void trustNothing(sqlite3* db) {
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 1);  // of VACUUM INTO
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 16);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
  sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 100);
  sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 100000);
}

}  // namespace

std::optional<uint32_t> pagesBeforeChange(const std::string& path) {
  const std::string beside = path + "-journal";
  const int fd = open(beside.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? std::nullopt : std::optional<uint32_t>(1);
  // The header of SQLite's rollback journal: eight bytes that name it, two numbers, and the pages. SQLite writes zeros
  // over one that is done with, or cuts it.
  uint8_t header[20] = {};
  struct stat state{};
  const bool regular = fstat(fd, &state) == 0 && S_ISREG(state.st_mode);  // SQLite would wait for a pipe
  const ssize_t size = regular ? read(fd, header, sizeof header) : 1;
  close(fd);
  if (size == 0 || (regular && size > 0 && header[0] == 0)) return std::nullopt;
  return size < ssize_t(sizeof header) ? 1 : llvm::support::endian::read32be(header + 16);
}

llvm::Error openDatabase(sqlite3*& db, const std::string& path, int flags) {
  constexpr const char* kVfs = "unix-none";
  const std::string file = path == ":memory:" ? path : withoutLinks(path);
  const bool reading = (flags & SQLITE_OPEN_READONLY) != 0;
  struct stat state{};
  if (lstat(file.c_str(), &state) == 0 && !S_ISREG(state.st_mode))  // SQLite would wait for a pipe
    return llvm::createStringError(fmt::format("{}: is no regular file, so no index of ours", path));
  if (reading && pagesBeforeChange(file))
    return llvm::createStringError(
        fmt::format("{}: whoever wrote it was killed meanwhile; the next `expc run` puts it right", path));
  int code = sqlite3_open_v2(reading ? immutableUri(file).c_str() : file.c_str(), &db,
                             flags | SQLITE_OPEN_NOFOLLOW | (reading ? SQLITE_OPEN_URI : 0), kVfs);
  if (code != SQLITE_OK) return sqliteError(db, path, code);
  sqlite3_extended_result_codes(db, 1);
  trustNothing(db);
  return execute(db, path, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
}

llvm::Error sqliteError(sqlite3* db, const std::string& path, int code) {
  return llvm::createStringError(explain(path, code, db ? sqlite3_errmsg(db) : sqlite3_errstr(code)));
}

Statement::Statement(sqlite3* db, const std::string& path, const char* sql) : db_(db), path_(path) {
  check(sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::check(int code) {
  if (error_ != SQLITE_OK || code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  error_ = code;
  message_ = explain(path_, code, sqlite3_errmsg(db_));
}

Statement& Statement::bind(std::initializer_list<Bound> values) {
  if (error_ != SQLITE_OK) return *this;
  sqlite3_reset(statement_);
  int parameter = 0;
  for (const Bound& value : values) {
    ++parameter;
    if (auto* integer = std::get_if<int64_t>(&value))
      check(sqlite3_bind_int64(statement_, parameter, *integer));
    else if (auto* real = std::get_if<double>(&value))
      check(sqlite3_bind_double(statement_, parameter, *real));
    else if (auto* text = std::get_if<std::string>(&value))
      check(sqlite3_bind_text64(statement_, parameter, text->data(), text->size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    else if (auto* reals = std::get_if<std::vector<double>>(&value))
      check(sqlite3_bind_blob64(statement_, parameter, reals->empty() ? static_cast<const void*>("") : reals->data(),
                                reals->size() * sizeof(double), SQLITE_TRANSIENT));
    else
      check(sqlite3_bind_null(statement_, parameter));
  }
  return *this;
}

void Statement::forget() {
  error_ = SQLITE_OK;
  message_.clear();
  sqlite3_reset(statement_);
}

bool Statement::step() {
  if (error_ != SQLITE_OK) return false;
  int code = sqlite3_step(statement_);
  check(code);
  return code == SQLITE_ROW;
}

std::string Statement::text(int column) const {
  auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return data ? std::string(data, sqlite3_column_bytes(statement_, column)) : std::string();
}

std::vector<double> Statement::reals(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  std::vector<double> values(sqlite3_column_bytes(statement_, column) / sizeof(double));
  if (data && !values.empty()) std::memcpy(values.data(), data, values.size() * sizeof(double));
  return values;
}

llvm::Error Statement::take() {
  if (error_ == SQLITE_OK) return llvm::Error::success();
  return llvm::createStringError(message_);
}

llvm::Error execute(sqlite3* db, const std::string& path, const char* sql) {
  int code = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? llvm::Error::success() : sqliteError(db, path, code);
}

llvm::Error transaction(sqlite3* db, const std::string& path, const std::function<llvm::Error()>& body) {
  if (auto error = execute(db, path, "BEGIN IMMEDIATE")) return error;
  llvm::Error error = body();
  if (!error) error = execute(db, path, "COMMIT");
  if (error && !sqlite3_get_autocommit(db)) llvm::consumeError(execute(db, path, "ROLLBACK"));
  return error;
}

}  // namespace expc::store
