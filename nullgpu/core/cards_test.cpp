#include "nullgpu/core/cards.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/core/process.h"

using namespace nullgpu;

namespace {

constexpr Description kTwo = {.memory = 1000, .cards = 2, .capability = 90};

/// The name of a file that does not exist yet, in a new folder.
class FileName {
 public:
  FileName() {
    char folder[] = "/tmp/nullgpu-cards-XXXXXX";
    REQUIRE(mkdtemp(folder));
    folder_ = folder;
  }
  ~FileName() { std::filesystem::remove_all(folder_); }
  std::string operator()() const { return folder_ / "machine"; }

 private:
  std::filesystem::path folder_;
};

/// Another process, which does `body` and then waits until it is killed.
class Neighbour {
 public:
  explicit Neighbour(const std::function<bool()>& body) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      const char done = body() ? 'y' : 'n';
      if (write(ends[1], &done, 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ends[1]);
    char done = 0;
    CHECK(read(ends[0], &done, 1) == 1);
    CHECK(done == 'y');
    close(ends[0]);
  }
  ~Neighbour() { end(); }
  int pid() const { return pid_; }
  /// Sends SIGKILL without waiting for the process, so that it stays a zombie.
  void kill() const { ::kill(pid_, SIGKILL); }
  void end() {
    if (pid_ == 0) return;
    kill();
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  int pid_ = 0;
};

/// Runs `body` in a child. Returns how it ended: "exit code: its error output".
std::string endOf(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(got));
  close(ends[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  return std::to_string(WEXITSTATUS(status)) + ": " + text;
}

std::set<int> pids(const CardState& state) {
  std::set<int> found;
  for (const CardProcess& process : state.processes) found.insert(process.pid);
  return found;
}

}  // namespace

TEST_CASE("processes that name one file share the memory of its cards") {
  const FileName file;
  Machine machine(file(), kTwo);
  CHECK(machine.state(0).used == 0);
  CHECK(machine.state(0).processes.empty());
  CHECK(machine.reserve(0, 300));
  Neighbour other([&] {
    Machine seen(file(), kTwo);
    return !seen.reserve(0, 701) && seen.reserve(0, 600) && seen.reserve(1, 50);
  });
  CHECK(machine.state(0).used == 900);
  CHECK(pids(machine.state(0)) == std::set{getpid(), other.pid()});
  CHECK(pids(machine.state(1)) == std::set{other.pid()});
  CHECK(machine.state(1).processes.at(0).bytes == 50);
  CHECK_FALSE(machine.reserve(0, 101));
  machine.release(0, 300);
  CHECK(machine.reserve(0, 101));
}

TEST_CASE("what a killed process held is taken back, its parent waited for it or not") {
  const FileName file;
  Machine machine(file(), kTwo);
  Neighbour other([&] { return Machine(file(), kTwo).reserve(0, 1000); });
  CHECK_FALSE(machine.reserve(0, 1));
  other.kill();
  while (startOf(other.pid()) != 0) usleep(100);  // it is a zombie then
  CHECK(machine.reserve(0, 1000));
  CHECK(pids(machine.state(0)) == std::set{getpid()});
}

TEST_CASE("a process that is killed while it holds the lock stops nobody") {
  const FileName file;
  Machine machine(file(), kTwo);
  Neighbour other([&] {
    (new Machine(file(), kTwo))->lock();
    return true;
  });
  other.kill();
  CHECK(machine.reserve(0, 1));
}

TEST_CASE("an entry belongs to a process and not to whoever has its number later") {
  const FileName file;
  Machine machine(file(), kTwo);
  CHECK(machine.reserve(0, 10));
  {
    Machine same(file(), kTwo);
    for (SharedProcess& process : same.shared().processes) {
      if (process.pid == getpid()) ++process.started;
    }
  }
  CHECK(machine.state(0).used == 0);
}

TEST_CASE("a fork has an entry of its own once it reserves") {
  const FileName file;
  Machine machine(file(), kTwo);
  CHECK(machine.reserve(0, 100));
  Neighbour fork([&] {
    machine.release(0, 100);  // memory of the parent
    return machine.state(0).used == 100 && machine.reserve(0, 7);
  });
  CHECK(machine.state(0).used == 107);
  CHECK(pids(machine.state(0)) == std::set{getpid(), fork.pid()});
  fork.end();
  CHECK(machine.state(0).used == 100);
}

TEST_CASE("without a file only forks share") {
  Machine one("", kTwo), two("", kTwo);
  CHECK(one.reserve(0, 5));
  CHECK(two.state(0).used == 0);
  const Neighbour fork([&] { return one.reserve(0, 6); });
  CHECK(one.state(0).used == 11);
}

TEST_CASE("many processes that make the file at once make one") {
  const FileName file;
  constexpr int kProcesses = 12;
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() == 0) {
      close(ends[1]);
      char nothing = 0;
      if (read(ends[0], &nothing, 1) != 0) _exit(1);  // returns when all processes are there
      Machine machine(file(), kTwo);
      machine.worked(0, 1);
      for (int j = 0; j < 20; ++j) {
        if (!machine.reserve(1, 3)) _exit(1);
        machine.release(1, 2);
      }
      _exit(machine.state(1).used >= 20 ? 0 : 1);
    }
  }
  close(ends[0]);
  close(ends[1]);
  for (int i = 0; i < kProcesses; ++i) {
    int status = 0;
    wait(&status);
    CHECK(status == 0);
  }
  CHECK(Machine(file(), kTwo).state(1).used == 0);  // all processes have ended
}

TEST_CASE("a file that is none, is damaged or describes other cards ends the process with one line") {
  const FileName file;
  const auto opened = [&](Description description = kTwo) {
    return endOf([&] { const Machine machine(file(), description); });
  };
  const std::string name = "2: nullgpu: NULLGPU_MACHINE=" + file();
  std::ofstream(file()) << "something else";
  CHECK(opened() == name + " is no file of null cards; name another, or remove it\n");
  std::filesystem::remove(file());

  CHECK(opened() == "0: ");
  CHECK(opened({.memory = 2000, .cards = 2, .capability = 75}) ==
        name +
            " has 2 cards of 1000 bytes and capability 9.0, and this process is told 2 cards of 2000 bytes and "
            "capability 7.5; set NULLGPU_CARDS, NULLGPU_MEMORY and NULLGPU_CAPABILITY alike for all, or remove the "
            "file\n");
  Machine(file(), kTwo).shared().processes[3] = {.pid = 1, .started = 1, .opened = 1, .bytes = {1001}};
  CHECK(opened() == name + " is no file of null cards, or is damaged; name another, or remove it\n");
  Machine(file() + "2", kTwo).shared().mark[0] = 'N';
  CHECK(endOf([&] { const Machine machine(file() + "2", kTwo); }).find("is damaged") != std::string::npos);
  CHECK(endOf([&] { const Machine machine(file() + "/x", kTwo); }).find("Not a directory; name a file") !=
        std::string::npos);
  CHECK(endOf([] { const Machine machine("", {.memory = 1, .cards = 65, .capability = 90}); }) ==
        "2: nullgpu: NULLGPU_CARDS=65: a machine has at most 64\n");
}

TEST_CASE("a file whose maker was killed at it is made anew") {
  const FileName file;
  Machine(file(), kTwo).shared().mark = {};
  Machine machine(file(), {.memory = 5, .cards = 1, .capability = 75});
  CHECK(machine.reserve(0, 5));
}

TEST_CASE("a card draws, heats and clocks as it works, for all to see, and never more than it can") {
  const FileName file;
  Machine machine(file(), kTwo);
  const CardState idle = machine.state(0);
  CHECK(idle.milliwatts == 60000);
  CHECK(idle.throttle == 1);
  CHECK(idle.clock_mhz == 345);
  const uint64_t begin = sharedClock();
  const Neighbour other([&] {
    Machine busy(file(), kTwo);
    for (int i = 0; i < 3; ++i) busy.worked(0, 400'000'000);  // the same stretch of time counts only once
    return true;
  });
  CHECK(Machine(file(), kTwo).shared().cards[0].busy <= 400'000'000 + (sharedClock() - begin));
  CHECK(machine.state(0).millijoules - idle.millijoules >= 176'000);  // 0.4 s of 440 W
  CardState working;
  // If this machine itself is suspended for a while, the card is found idle; so try again.
  for (int i = 0; i < 100 && working.milliwatts <= 300'000; ++i) {
    machine.worked(0, 400'000'000);
    working = machine.state(0);
  }
  CHECK(working.milliwatts > 300'000);
  CHECK(working.milliwatts <= 500'000);
  CHECK(working.celsius > idle.celsius);
  CHECK(working.clock_mhz == 1980);
  CHECK(working.throttle == 0);
  CHECK(machine.state(1).milliwatts == 60000);
  setenv("NULLGPU_THROTTLE", "0=0x8", 1);
  machine.worked(0, 400'000'000);
  const CardState held = machine.state(0);
  CHECK((held.throttle & 8) == 8);
  CHECK(held.clock_mhz < 1980);
  const std::string list = std::string(file()) + ".throttle";
  setenv("NULLGPU_THROTTLE", ("@" + list).c_str(), 1);
  CHECK((machine.state(0).throttle & 8) == 0);
  std::ofstream(list) << "0=0x8\n";
  CHECK((machine.state(0).throttle & 8) == 8);
  std::filesystem::remove(list);
  unsetenv("NULLGPU_THROTTLE");
}

TEST_CASE("a lost card is lost for all") {
  const FileName file;
  Machine machine(file(), kTwo);
  const Neighbour other([&] {
    Machine(file(), kTwo).lose(1);
    return true;
  });
  CHECK(machine.state(1).lost);
  CHECK_FALSE(machine.state(0).lost);
}

TEST_CASE("reasons for low clocks can be asked for") {
  CHECK(throttleIn("", 0) == 0);
  CHECK(throttleIn("0x20", 3) == 0x20);
  CHECK(throttleIn("0=8, 2=0x40", 0) == 8);
  CHECK(throttleIn("0=8, 2=0x40", 1) == 0);
  CHECK(throttleIn("0=8,2=0x40", 2) == 0x40);
  CHECK(endOf([] { throttleIn("1:2", 0); }) ==
        "2: nullgpu: NULLGPU_THROTTLE=1:2: '1:2' is neither CARD=BITS nor BITS, such as 0=0x8\n");
}

TEST_CASE("CUDA_VISIBLE_DEVICES as CUDA reads it") {
  using Cards = std::vector<unsigned>;
  CHECK(visibleCards("", 4) == Cards{});
  CHECK(visibleCards("2,0", 4) == Cards{2, 0});
  CHECK(visibleCards(" 1 , 3", 4) == Cards{1, 3});
  CHECK(visibleCards("1,-1,2", 4) == Cards{1});
  CHECK(visibleCards("1,4,2", 4) == Cards{1});
  CHECK(visibleCards("NoDevFiles", 4) == Cards{});
  CHECK(visibleCards("0,0", 4) == Cards{});  // a card named twice empties the list
  CHECK(visibleCards(cardUuid(2) + "," + cardUuid(1), 4) == Cards{2, 1});
  CHECK(visibleCards(cardUuid(2) + ",1", 4) == Cards{2});  // numbers and uuids do not mix
  CHECK(visibleCards("GPU-6e756c6c", 4) == Cards{});       // a prefix of all cards names none
  CHECK(visibleCards("GPU-6e756c6c", 1) == Cards{0});      // with one card it is unique
  const std::string begin = "GPU-6e756c6c-0000-0000-0000-00000000001";
  CHECK(visibleCards(begin, 16) == Cards{15});
  CHECK(visibleCards(begin, 17) == Cards{});
}

TEST_CASE("a card says what it is") {
  CHECK(cardName() == "Null GPU (computes nothing)");
  CHECK(cardUuid(0) == "GPU-6e756c6c-0000-0000-0000-000000000001");
  CHECK(cardUuid(16) == "GPU-6e756c6c-0000-0000-0000-000000000011");
  CHECK(cardBus(0) == "0000:01:00.0");
}
