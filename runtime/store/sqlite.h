#pragma once

// SQLite with errors as values. Private to this directory.

#include <llvm/Support/Error.h>
#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace expc::store {

/// The database's last error as one that names the file and the way out.
llvm::Error sqliteError(sqlite3* db, const std::string& path, int code);

/// Of a database whose writer was killed in the middle of a change: how many pages it had before. What SQLite would
/// take back lies beside it. Nothing where no change is unfinished.
std::optional<uint32_t> pagesBeforeChange(const std::string& path);

/// Opens a database that anybody may have written, by SQLite's flags, without file locks: the lease keeps others out,
/// and locks are not to be trusted on network file systems. Of the file only tables are used: its triggers and views do
/// not run, and its schema may not call what touches anything. A link in place of the file is refused. `path` is the
/// file's, or ":memory:"; with SQLITE_OPEN_READONLY the file is taken as one that nobody changes, and refused where it
/// is half written. An error leaves `db` to be closed.
llvm::Error openDatabase(sqlite3*& db, const std::string& path, int flags);

/// A value to bind; nullptr is NULL, a list of numbers a blob of doubles.
using Bound = std::variant<std::nullptr_t, int64_t, double, std::string, std::vector<double>>;

/// A prepared statement. The first error sticks: later calls do nothing, and take() returns it.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& path, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Rewinds and binds ?1, ?2, ….
  Statement& bind(std::initializer_list<Bound> values);
  /// The next row; false at the end and after an error.
  bool step();
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  bool isNull(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  std::string text(int column) const;
  std::vector<double> reals(int column) const;  // a blob of doubles
  int columns() const { return sqlite3_column_count(statement_); }
  bool failedConstraint() const { return (error_ & 0xff) == SQLITE_CONSTRAINT; }
  /// As if no error had happened.
  void forget();
  llvm::Error take();

 private:
  void check(int code);

  sqlite3* db_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
  int error_ = SQLITE_OK;
  std::string message_;
};

/// Runs statements without results.
llvm::Error execute(sqlite3* db, const std::string& path, const char* sql);

/// Runs `body` as one transaction; rolled back if it returns an error.
llvm::Error transaction(sqlite3* db, const std::string& path, const std::function<llvm::Error()>& body);

}  // namespace expc::store
