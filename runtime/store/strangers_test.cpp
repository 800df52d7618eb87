// What stands in a results folder that somebody else made, or that a kill left, can be wrong, and can do nothing.

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>

#include "runtime/store/sqlite.h"
#include "runtime/store/store.h"

using namespace expc::store;

namespace {

class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/expc-strangers-XXXXXX";
    path = mkdtemp(name);
    index = path + "/expc.sqlite";
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  std::string path, index;
};

/// As any program would write it.
void change(const std::string& file, const char* sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  REQUIRE(sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(db);
}

/// "" if the statements run on the file as we open it.
std::string run(const std::string& file, const char* sql) {
  sqlite3* db = nullptr;
  llvm::Error error = openDatabase(db, file, SQLITE_OPEN_READWRITE);
  if (!error) error = execute(db, file, sql);
  sqlite3_close_v2(db);
  return error ? llvm::toString(std::move(error)) : "";
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

int64_t count(const std::string& file, const char* sql) {
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &db) == SQLITE_OK);
  int64_t result = -1;
  {
    Statement statement(db, file, sql);
    if (statement.step()) result = statement.integer(0);
    llvm::cantFail(statement.take());
  }
  sqlite3_close(db);
  return result;
}

/// A folder with a session in it, whose index holds it.
void fill(const TestFolder& folder) {
  std::vector<std::string> messages;
  Store store = llvm::cantFail(Store::openForWriting(folder.path, messages));
  Session session;
  session.where.nodes = {"host"};
  session.environment_json = "{}";
  llvm::cantFail(store.addSession(session));
  llvm::cantFail(store.close());
}

void openAgain(const TestFolder& folder) {
  std::vector<std::string> messages;
  Store store = llvm::cantFail(Store::openForWriting(folder.path, messages));
  llvm::cantFail(store.close());
}

/// What SQLite writes beside a database in the middle of a transaction over several files, `other` among them.
void writeHotJournal(const std::string& path, const std::string& other, uint32_t pages = 3) {
  const auto number = [](uint32_t value) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) bytes += char(value >> shift);
    return bytes;
  };
  const std::string magic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  std::string text = magic + number(0) + number(1) + number(pages) + number(512) + number(4096);
  text.resize(512);
  uint32_t sum = 0;
  for (const char sign : other) sum += uint32_t(int(sign));
  text += number((1 << 30) / 4096 + 1) + other + number(uint32_t(other.size())) + number(sum) + magic;
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("triggers of a stranger do not run, and his views are not read") {
  TestFolder folder;
  change(folder.index,
         "CREATE TABLE a(x); CREATE TABLE b(x); CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO b VALUES(1); END;"
         "CREATE VIEW v AS SELECT x FROM a;");
  CHECK(run(folder.index, "INSERT INTO a VALUES(1)") == "");
  CHECK(count(folder.index, "SELECT count(*) FROM a") == 1);
  CHECK(count(folder.index, "SELECT count(*) FROM b") == 0);
  CHECK(has(run(folder.index, "SELECT * FROM v"), "prohibited"));
  CHECK(run(folder.index, "PRAGMA writable_schema=ON; DELETE FROM sqlite_master") != "");
}

TEST_CASE("a link in the place of a database is refused, one in the folders before it is the user's") {
  TestFolder folder, other;
  change(other.index, "CREATE TABLE a(x)");
  std::filesystem::create_symlink(other.index, folder.index);
  CHECK(run(folder.index, "INSERT INTO a VALUES(1)") != "");
  std::filesystem::create_directory_symlink(other.path, folder.path + "/link");
  CHECK(run(folder.path + "/link/expc.sqlite", "INSERT INTO a VALUES(1)") == "");
}

TEST_CASE("a pipe beside an index is not waited for, and goes") {
  for (const char* beside : {"-journal", "-wal"}) {
    CAPTURE(beside);
    TestFolder folder;
    fill(folder);
    REQUIRE(mkfifo((folder.index + beside).c_str(), 0600) == 0);
    std::vector<std::string> messages;
    llvm::cantFail(Store::openForReading(folder.path, messages).takeError());
    openAgain(folder);
    CHECK(count(folder.index, "SELECT count(*) FROM session") == 1);
    CHECK_FALSE(std::filesystem::is_fifo(folder.index + beside));
  }
}

TEST_CASE("what lies beside an index removes no file that it names") {
  TestFolder folder;
  fill(folder);
  const std::string other = folder.path + "/dear";
  std::ofstream(other) << "nothing of ours";
  writeHotJournal(folder.index + "-journal", other);
  openAgain(folder);
  CHECK(std::filesystem::exists(other));
  CHECK(count(folder.index, "SELECT count(*) FROM session") == 1);
}

TEST_CASE("an index whose writer was killed in the middle is not read") {
  TestFolder folder;
  fill(folder);
  change(folder.index, "DELETE FROM session");  // half of what it would have become
  writeHotJournal(folder.index + "-journal", "");
  std::vector<std::string> messages;
  {
    Store store = llvm::cantFail(Store::openForReading(folder.path, messages));
    CHECK(llvm::cantFail(store.database().largest("session")) == 1);
  }
  openAgain(folder);
  CHECK(count(folder.index, "SELECT count(*) FROM session") == 1);
}

TEST_CASE("an index whose writer was killed while he made it is none") {
  TestFolder folder;
  std::ofstream(folder.index) << "half a page";
  writeHotJournal(folder.index + "-journal", "", 0);
  std::vector<std::string> messages;
  auto store = Store::openForReading(folder.path, messages);
  REQUIRE(!store);
  CHECK(has(llvm::toString(store.takeError()), "no results in"));
  fill(folder);
  CHECK(count(folder.index, "SELECT count(*) FROM session") == 1);
}

TEST_CASE("a journal that names its store after a file elsewhere is refused") {
  const std::string line = toLine(Opened{1, "../../x", {}, {}});
  auto entry = entryFromLine(line);
  REQUIRE(!entry);
  CHECK(has(llvm::toString(entry.takeError()), "begins with a dot"));
}
