#include "runtime/store/lease.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>
#include <utility>

#include "tests/support/folder.h"
#include "tests/support/text/has.h"

using namespace expc::store;

namespace {

constexpr LeasePatience kQuick{120, 0.2};

class LeaseFolder : public expc::test::TestFolder {
 public:
  LeaseFolder() : lease(path + "/" + std::string(kLeaseName)) {}

  void write(const LeaseHolder& holder) const { std::ofstream(lease) << holder.toText(); }
  void age(double seconds) const {
    const time_t then = time(nullptr) - time_t(seconds);
    const timespec times[2] = {{then, 0}, {then, 0}};
    utimensat(AT_FDCWD, lease.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
  /// Why the lease is refused; "" if it is given. `said` is the first message.
  std::string refusal(std::string* said = nullptr) const {
    std::vector<std::string> messages;
    auto lease = Lease::acquire(path, "run", messages, kQuick);
    if (said && !messages.empty()) *said = messages.front();
    return lease ? "" : llvm::toString(lease.takeError());
  }

  std::string lease;
};

Lease take(const LeaseFolder& folder) {
  std::vector<std::string> messages;
  return llvm::cantFail(Lease::acquire(folder.path, "run", messages, kQuick));
}

/// The exit code of `body` in a process of its own.
int inChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool lost(Lease& lease) {
  llvm::Error error = lease.heartbeat();
  const bool failed = bool(error);
  llvm::consumeError(std::move(error));
  return failed;
}

using expc::test::has;

}  // namespace

TEST_CASE("a reused process number does not keep a lease") {
  LeaseFolder folder;
  LeaseHolder holder = LeaseHolder::self("run");
  folder.write(holder);
  CHECK(Lease::isLive(folder.path));
  CHECK(has(folder.refusal(), "is in use by process"));
  ++holder.start_ticks;
  folder.write(holder);
  CHECK(!Lease::isLive(folder.path));
  CHECK(folder.refusal() == "");
}

TEST_CASE("a holder elsewhere is believed dead only once its heartbeat is old and does not move") {
  LeaseFolder folder;
  LeaseHolder holder = LeaseHolder::self("run");
  holder.host = "elsewhere";
  holder.boot_id = "another";
  folder.write(holder);
  CHECK(Lease::isLive(folder.path));
  CHECK(has(folder.refusal(), "on host elsewhere"));
  folder.age(1000);
  CHECK(!Lease::isLive(folder.path));
  std::string said;
  CHECK(folder.refusal(&said) == "");
  CHECK(has(said, "gave no sign of life"));

  SUBCASE("a clock that was set back makes nobody immortal") {
    folder.write(holder);
    folder.age(-100000);
    CHECK(folder.refusal() == "");
  }
  SUBCASE("nor does one that was set ahead kill who lives") {
    folder.write(holder);
    folder.age(1000);
    std::thread alive([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      folder.age(900);
    });
    CHECK(has(folder.refusal(), "on host elsewhere"));
    alive.join();
  }
}

TEST_CASE("another machine of the same name is not taken for this one, started anew") {
  LeaseFolder folder;
  LeaseHolder holder = LeaseHolder::self("run");
  holder.boot_id = "another";
  holder.machine_id = "another";
  CHECK((signOf(holder, folder.path) == Sign::Elsewhere));
  folder.write(holder);
  CHECK(has(folder.refusal(), "is in use"));
  holder.machine_id = LeaseHolder::self("").machine_id;
  CHECK((signOf(holder, "/tmp") == Sign::Gone));
  // Machines that were cloned have one machine id. The disk of /proc is not one that a single machine owns.
  CHECK((signOf(holder, "/proc") == Sign::Elsewhere));
}

TEST_CASE("of two processes one gets the lease, and the other gets it after that one died") {
  LeaseFolder folder;
  Lease lease = take(folder);
  CHECK(inChild([&] { return has(folder.refusal(), std::to_string(getppid())); }) == 0);
  lease.release();
  const int status = inChild([&] {
    const Lease held = take(folder);
    raise(SIGKILL);
    return false;
  });
  REQUIRE(WIFSIGNALED(status));
  std::string said;
  CHECK(folder.refusal(&said) == "");
  CHECK(has(said, "is gone"));
}

TEST_CASE("a holder that slept through a takeover is told so when it wakes up") {
  LeaseFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    Lease lease = take(folder);
    if (lost(lease)) _exit(2);
    raise(SIGSTOP);
    _exit(lost(lease) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  REQUIRE(WIFSTOPPED(status));
  SUBCASE("by another file") {
    std::filesystem::remove(folder.lease);
    const Lease lease = take(folder);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    CHECK(std::filesystem::exists(folder.lease));
  }
  SUBCASE("by a file that has the number of the earlier one") {
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    folder.write(LeaseHolder::self("run"));
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
  }
  CHECK(status == 0);
}

TEST_CASE("a lease that is no file, or none of ours, is nothing that is read") {
  LeaseFolder folder;
  SUBCASE("a link") { std::filesystem::create_symlink("/dev/zero", folder.lease); }
  SUBCASE("a pipe") { REQUIRE(mkfifo(folder.lease.c_str(), 0600) == 0); }
  SUBCASE("nested without end") { std::ofstream(folder.lease) << std::string(1 << 20, '['); }
  CHECK(has(folder.refusal(), "the lock file is damaged") == std::filesystem::is_regular_file(folder.lease));
  folder.age(1000);
  CHECK(folder.refusal() == "");
}

TEST_CASE("what a lease says cannot steer a terminal") {
  LeaseHolder holder = LeaseHolder::self("run");
  holder.host = "a\x1b[2Jb";
  CHECK(LeaseHolder::fromText(holder.toText()).host == "a\\x1b[2Jb");
}
