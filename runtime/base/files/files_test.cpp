#include "runtime/base/files/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/format.h"
#include "tests/support/folder.h"

namespace expc::files {
namespace {

namespace fs = std::filesystem;

struct Place : test::TestFolder {
  ~Place() { removeTree(path); }
  size_t entries() const { return size_t(std::distance(fs::directory_iterator(path), {})); }
};

std::string contents(const std::string& path) {
  auto buffer = read(path);
  return buffer ? (*buffer)->getBuffer().str() : toString(buffer.takeError());
}

std::string refusal(Error error) { return toString(std::move(error)); }

/// The result of `body` in a process whose files can have at most `bytes`: writing fails as on a full disk.
template <typename Body>
std::string withSmallFiles(rlim_t bytes, Body body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string said = body();
    [[maybe_unused]] auto written = ::write(ends[1], said.data(), said.size());
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[512];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, size_t(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  return said;
}

TEST_CASE("a file is whole or not there, and keeps its permissions; nothing else is beside it") {
  const Place place;
  const std::string path = place / "50% of it";
  CHECK(refusal(write(path, "one")).empty());
  CHECK(chmod(path.c_str(), 0600) == 0);
  CHECK(refusal(write(path, "two")).empty());
  CHECK(contents(path) == "two");
  struct stat state{};
  CHECK((stat(path.c_str(), &state) == 0 && (state.st_mode & 0777) == 0600));
  const auto fails = [&](const std::string& temporary) {
    consumeError(write(temporary, "half"));
    return llvm::createStringError("no more");
  };
  CHECK(refusal(writeBy(path, fails)) == "no more");
  CHECK(contents(path) == "two");
  CHECK(place.entries() == 1);
  CHECK(refusal(write(place / "none/x", "x")) == (place / "none/x") + ": No such file or directory");
}

TEST_CASE("a disk that is full leaves what was there and says so") {
  const Place place;
  const std::string path = place / "a";
  REQUIRE(refusal(write(path, "before")).empty());
  const std::string said = withSmallFiles(4096, [&] { return refusal(write(path, std::string(100'000, 'x'))); });
  CHECK(said == path + ": File too large");
  CHECK(contents(path) == "before");
  CHECK(place.entries() == 1);
}

TEST_CASE("only a regular file of the name itself is replaced") {
  const Place place;
  CHECK(refusal(write(place / "target", "old and long")).empty());
  fs::create_symlink("target", place / "link");
  fs::create_symlink("/dev/null", place / "null");
  fs::create_symlink("/dev/full", place / "full");
  CHECK(mkfifo((place / "pipe").c_str(), 0600) == 0);
  CHECK(refusal(write(place / "link", "new")).empty());
  CHECK(fs::is_symlink(place / "link"));
  CHECK(contents(place / "target") == "new");
  CHECK(refusal(write(place / "null", "new")).empty());
  CHECK(fs::is_symlink(place / "null"));
  CHECK(refusal(write(place / "full", "new")).find("No space left") != std::string::npos);
  CHECK(refusal(write(place / "pipe", "new")) == (place / "pipe") + ": is a pipe without a reader, or a socket");
  const int reader = open((place / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  CHECK(refusal(write(place / "pipe", "new")).empty());
  char piece[8] = {};
  CHECK(::read(reader, piece, sizeof piece) == 3);
  close(reader);
  CHECK(fs::is_fifo(place / "pipe"));
  CHECK(refusal(write(place.path, "new")).find("Is a directory") != std::string::npos);
}

TEST_CASE("a link in the place of a file of ours is replaced, and leads nobody to another file") {
  const Place place;
  for (const char* target : {"target", "nowhere"}) {
    CHECK(refusal(write(place / "target", "another's")).empty());
    fs::create_symlink(target, place / "link");
    CHECK(isThere(place / "link"));
    CHECK(refusal(write(place / "link", "ours", Links::Refused)).empty());
    CHECK(fs::is_regular_file(fs::symlink_status(place / "link")));
    CHECK(contents(place / "link") == "ours");
    CHECK(contents(place / "target") == "another's");
    fs::remove(place / "link");
    CHECK_FALSE(isThere(place / "link"));
  }
}

TEST_CASE("what a killed process left is no file of a folder") {
  const Place place;
  CHECK(refusal(write(place / "image", "x")).empty());
  const std::string left = temporaryBeside(place / "image"), folder = temporaryBeside(place / "images");
  CHECK(refusal(write(left, "half of it")).empty());
  fs::create_directories(folder);
  CHECK(refusal(write(folder + "/image", "one of many")).empty());
  CHECK(refusal(write(place / ".expc-notes", "a user's")).empty());
  std::vector<std::string> names;
  CHECK(refusal(eachFile(place.path, [&](const std::string& file) {
          names.push_back(fs::path(file).filename());
          return Error::success();
        })).empty());
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{".expc-notes", "image"});
}

TEST_CASE("what a killed process left is removed by the next one, and what a living one is at stays") {
  const Place place;
  // Two processes of the same place, one of which is killed in the middle of writing.
  const auto writer = [&](int done) {
    const pid_t child = fork();
    if (child != 0) return child;
    consumeError(writeBy(place / "target", [&](const std::string& temporary) {
      std::ofstream(temporary) << "half of it";
      fs::create_directories(temporary.substr(0, temporary.size() - 5) + "9.tmp/train");  // as drawing images makes
      [[maybe_unused]] const ssize_t told = ::write(done, "1", 1);
      while (true) pause();
      return Error::success();
    }));
    _exit(1);
  };
  const auto left = [&] {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(place.path))
      if (isTemporary(entry.path().filename().string())) names.push_back(entry.path().filename());
    return names;
  };
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t killed = writer(ready[1]), living = writer(ready[1]);
  char word = 0;
  for (int i = 0; i < 2; ++i) REQUIRE(::read(ready[0], &word, 1) == 1);
  REQUIRE(left().size() == 4);
  kill(killed, SIGKILL);
  waitpid(killed, nullptr, 0);
  std::ofstream(place / ".expc-0123abcd-1-2-3-4.tmp") << "another machine's";
  CHECK(refusal(write(place / "target", "whole")).empty());
  for (const std::string& name : left())
    CHECK((name.find(fmt::format("-{}-", living)) != std::string::npos || name == ".expc-0123abcd-1-2-3-4.tmp"));
  CHECK(left().size() == 3);
  CHECK(contents(place / "target") == "whole");
  kill(living, SIGKILL);
  waitpid(living, nullptr, 0);
}

TEST_CASE("moving replaces files, and folders only where there is none") {
  const Place place;
  for (const char* name : {"a", "b", "one/x", "two/x"}) {
    fs::create_directories(fs::path(place / name).parent_path());
    CHECK(refusal(write(place / name, name)).empty());
  }
  CHECK(refusal(move(place / "a", place / "b")).empty());
  CHECK(contents(place / "b") == "a");
  CHECK(refusal(move(place / "one", place / "two")).find("not empty") != std::string::npos);
  CHECK(contents(place / "two/x") == "two/x");
  CHECK(refusal(move(place / "gone", place / "c")).find("No such file") != std::string::npos);
}

TEST_CASE("what is no regular file is not read, and waited for neither") {
  const Place place;
  CHECK(mkfifo((place / "pipe").c_str(), 0600) == 0);
  fs::create_symlink("/dev/zero", place / "zero");
  fs::create_symlink("itself", place / "itself");
  CHECK(contents(place / "pipe").ends_with("not a regular file"));
  CHECK(contents(place / "zero").ends_with("not a regular file"));
  CHECK(contents(place / "itself").find("Too many levels of symbolic links") != std::string::npos);
  CHECK(contents(place.path).ends_with("Is a directory"));
  CHECK(refusal(write(place / "long", "12345")).empty());
  CHECK(toString(read(place / "long", 4).takeError()).ends_with("has 5 bytes; at most 4 are allowed"));
  CHECK(contents(place / "long") == "12345");
}

TEST_CASE("of a file that grows the end is read, and no link is followed") {
  const Place place;
  CHECK(refusal(write(place / "log", "first\nsecond\nthird")).empty());
  CHECK(tail(place / "log", 100) == "first\nsecond\nthird");
  CHECK(tail(place / "log", 9) == "third");
  CHECK(tail(place / "log", 3) == "ird");
  fs::create_symlink("log", place / "link");
  CHECK(mkfifo((place / "pipe").c_str(), 0600) == 0);
  for (const char* name : {"link", "pipe", "none"}) CHECK(tail(place / name, 9).empty());
  CHECK(
      toString(read(place / "link", kMost, Links::Refused).takeError()).ends_with("is a link, and not a regular file"));
}

TEST_CASE("a log begins anew or goes on, and leads nobody to another file") {
  const Place place;
  CHECK(refusal(write(place / "mine", "mine")).empty());
  const auto log = [&](const std::string& name, Log how) {
    const int file = openLog(place / name, how);
    REQUIRE(file >= 0);
    CHECK(writeAll(file, "said") == 0);
    close(file);
    return contents(place / name);
  };
  CHECK(log("new", Log::BeginsAnew) == "said");
  CHECK(log("new", Log::GoesOn) == "saidsaid");
  CHECK(log("new", Log::BeginsAnew) == "said");
  fs::create_symlink("mine", place / "link");
  fs::create_hard_link(place / "mine", place / "hard");
  CHECK(mkfifo((place / "pipe").c_str(), 0600) == 0);
  for (const char* name : {"link", "hard", "pipe"}) CHECK(log(name, Log::GoesOn) == "said");
  CHECK(contents(place / "mine") == "mine");
  CHECK(openLog(place.path) == -1);
}

TEST_CASE("what its maker left read-only is removed, and nothing that a link leads to") {
  const Place place;
  fs::create_directories(place / "mod/cache");
  CHECK(refusal(write(place / "mod/cache/f", "x")).empty());
  CHECK(refusal(write(place / "kept", "x")).empty());
  fs::create_symlink(place.path, place / "mod/up");
  CHECK(chmod((place / "mod/cache").c_str(), 0500) == 0);
  CHECK(chmod((place / "mod").c_str(), 0500) == 0);
  CHECK(removeTree(place / "mod").empty());
  CHECK_FALSE(fs::exists(place / "mod"));
  CHECK(contents(place / "kept") == "x");
}

/// Whether `body` holds in a process that alone sees its mounts; nothing if mounting is not allowed.
template <typename Body>
std::optional<bool> inOwnMounts(Body body) {
  constexpr int kMayNot = 3;
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0) _exit(kMayNot);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kMayNot) return std::nullopt;
  return status == 0;
}

TEST_CASE("nothing is removed across a mount, be it of the same file system") {
  const Place place;
  fs::create_directories(place / "mine/deep");
  fs::create_directories(place / "trial/a/m");
  for (const char* file : {"mine/f", "mine/deep/f", "trial/own", "trial/z"})
    CHECK(refusal(write(place / file, "x")).empty());
  const auto held = inOwnMounts([&] {
    const auto bind = [&](const std::string& at) {
      return mount((place / "mine").c_str(), at.c_str(), "", MS_BIND, nullptr) == 0;
    };
    const std::string stays = "/trial/a/m: another file system is mounted there";
    bool well = bind(place / "trial/a/m") && removeTree(place / "trial").find(stays) != std::string::npos;
    well = well && !fs::exists(place / "trial/own") && !fs::exists(place / "trial/z");
    // The folder itself may be a mount point.
    well =
        well && bind(place / "trial") && !removeTree(place / "trial/").empty() && !clearFolder(place / "trial").empty();
    return well && fs::exists(place / "mine/f") && fs::exists(place / "mine/deep/f");
  });
  if (held)
    CHECK(*held);
  else
    MESSAGE("SKIPPED: no permission to mount");
  CHECK(contents(place / "mine/deep/f") == "x");
  CHECK(removeTree(place / "trial").empty());
  CHECK(removeTree(place / "none").empty());
}

TEST_CASE("a log has the permissions that the umask leaves, and another user's is no obstacle") {
  const Place place;
  CHECK(chmod(place.path.c_str(), 0777) == 0);
  const mode_t before = umask(002);
  close(openLog(place / "log"));
  umask(before);
  struct stat state{};
  CHECK((stat((place / "log").c_str(), &state) == 0 && (state.st_mode & 0777) == 0664));
  CHECK(chmod((place / "log").c_str(), 0444) == 0);
  const pid_t child = fork();
  if (child == 0) {
    if (getuid() == 0 && setuid(65534) != 0) _exit(1);
    const int file = openLog(place / "log", Log::GoesOn);
    _exit(file >= 0 && writeAll(file, "said") == 0 ? 0 : 1);
  }
  int status = 0;
  CHECK((waitpid(child, &status, 0) == child && status == 0));
  CHECK(contents(place / "log") == "said");
}

TEST_CASE("a temporary folder goes with its object, and what is in it") {
  const Place place;
  {
    const TemporaryFolder folder(place / ""), usual;
    CHECK(refusal(write(folder.path() + "/f", "x")).empty());
    CHECK(place.entries() == 1);
    CHECK(fs::path(usual.path()).parent_path() == fs::temp_directory_path());
  }
  CHECK(place.entries() == 0);
  CHECK(TemporaryFolder(place / "none").path().empty());
}

TEST_CASE("the next temporary folder removes the one that a killed process left") {
  const Place place;
  const pid_t killed = fork();
  if (killed == 0) {
    const TemporaryFolder folder(place / "");
    _exit(fs::exists(folder.path()) ? 0 : 1);
  }
  int status = 1;
  waitpid(killed, &status, 0);
  CHECK(status == 0);
  CHECK(place.entries() == 1);
  {
    const TemporaryFolder next(place / "");
  }
  CHECK(place.entries() == 0);
}

}  // namespace

TEST_CASE("a log's tail is its last lines, fit to print") {
  char name[] = "/tmp/expc-tail-XXXXXX";
  close(mkstemp(name));
  CHECK(lastWords(name).empty());
  {
    std::ofstream out(name);
    for (int i = 0; i < 100; ++i) out << "line " << i << "\n";
    out << "\x1b[31mred\n";
  }
  std::string tail = lastWords(name);
  CHECK(std::ranges::count(tail, '\n') == 19);
  CHECK(tail.substr(0, 7) == "line 81");
  CHECK(tail.substr(tail.size() - 11) == "\\x1b[31mred");
  std::ofstream(name) << std::string(100000, 'x');
  CHECK(lastWords(name).size() == 4096);
  unlink(name);
  CHECK(lastWords(name).empty());
}

}  // namespace expc::files
