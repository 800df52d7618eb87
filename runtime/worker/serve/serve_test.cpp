#include "runtime/worker/serve/serve.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/protocol/packet.h"
#include "runtime/worker/serve/child.h"

using namespace expc;

namespace {

/// A server in a process of its own, and this end of its channel.
class TestServer {
 public:
  explicit TestServer(const serve::Child& child, serve::Reuse reuse = serve::Reuse::Never) {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      _exit(serve::run(ends[1], child, reuse));
    }
    close(ends[1]);
    fd_ = ends[0];
    CHECK(receive().type == protocol::LaunchReply::Type::Ready);
  }
  ~TestServer() {
    if (fd_ >= 0) close(fd_);
    waitpid(pid_, nullptr, 0);
  }

  protocol::LaunchReply receive() { return receiveFrom(fd_); }

  static protocol::LaunchReply receiveFrom(int channel) {
    pollfd waiting{channel, POLLIN, 0};
    REQUIRE(poll(&waiting, 1, 10000) == 1);
    auto packet = protocol::receivePacket(channel);
    REQUIRE(packet);
    return llvm::cantFail(
        base::readRecord<protocol::LaunchReply>(llvm::cantFail(base::parseJson(packet->text)), "the launch reply"));
  }

  void sendText(const std::string& text) { REQUIRE(protocol::sendPacket(fd_, text)); }

  /// Launches a rank. Returns the read ends of the event pipe and of the log. @param next the third
  /// descriptor, if not -1
  std::pair<int, int> launch(uint64_t id, unsigned rank = 0, int core = 0, int next = -1) {
    return launchOver(fd_, id, rank, core, next);
  }

  static std::pair<int, int> launchOver(int channel, uint64_t id, unsigned rank, int core, int next) {
    protocol::LaunchRequest request;
    request.id = id;
    request.rank = rank;
    request.environment = {"EXPC_TEST_WORD=hello=there"};
    request.spec.trial = "17";
    request.spec.workload = "test";
    request.spec.slots.push_back(llvm::json::Object{{"device", "cpu"}, {"cores", llvm::json::Array{core}}});
    int events[2], log[2];
    REQUIRE(pipe2(events, O_CLOEXEC) == 0);
    REQUIRE(pipe2(log, O_CLOEXEC) == 0);
    std::vector<int> descriptors{events[1], log[1]};
    if (next >= 0) descriptors.push_back(next);
    REQUIRE(protocol::sendPacket(channel, base::canonicalJson(base::written(request)), descriptors));
    close(events[1]);
    close(log[1]);
    return {events[0], log[0]};
  }

  void closeChannel() {
    close(fd_);
    fd_ = -1;
    int status = 0;
    waitpid(pid_, &status, 0);
    CHECK(status == 0);
  }

 private:
  pid_t pid_ = 0;
  int fd_ = -1;
};

std::string readAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, size);
  close(fd);
  return text;
}

bool isGone(pid_t pid) {
  for (int i = 0; i < 500; ++i) {
    if (kill(pid, 0) != 0) return true;
    usleep(10000);
  }
  return false;
}

}  // namespace

TEST_CASE("a child has its environment, log, cores and events, and its exit is reported") {
  TestServer server([](const protocol::LaunchRequest& request, int fd) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    printf("%s %d %d\n", getenv("EXPC_TEST_WORD"), CPU_COUNT(&set), getpgid(0) == getpid());
    serve::EventWriter(fd).progress(1, 2, "steps");
    return int(request.id);
  });
  auto [events, log] = server.launch(5);
  auto started = server.receive();
  CHECK(started.type == protocol::LaunchReply::Type::Started);
  CHECK(started.id == 5);
  CHECK(started.pid > 0);
  auto exited = server.receive();
  CHECK(exited.type == protocol::LaunchReply::Type::Exited);
  CHECK(WIFEXITED(exited.status));
  CHECK(WEXITSTATUS(exited.status) == 5);
  CHECK(readAll(log) == "hello=there 1 1\n");
  auto event = llvm::cantFail(protocol::eventFromLine(readAll(events)));
  CHECK(event.done == 1);
}

TEST_CASE("an exception ends the rank as failed") {
  TestServer server([](const protocol::LaunchRequest&, int) -> int { throw std::runtime_error("no such file: x"); });
  auto [events, log] = server.launch(1);
  server.receive();
  CHECK(WEXITSTATUS(server.receive().status) == 1);
  CHECK(readAll(events).find("no such file: x") != std::string::npos);
  close(log);
}

TEST_CASE("a kill ends a child and what it started") {
  TestServer server([](const protocol::LaunchRequest&, int fd) {
    pid_t grandchild = fork();
    if (grandchild == 0) {
      sleep(1000);
      _exit(0);
    }
    serve::EventWriter(fd).writeRaw(fmt::format("{}\n", grandchild));
    sleep(1000);
    return 0;
  });
  auto [events, log] = server.launch(9);
  pid_t child = server.receive().pid;
  char text[32] = {};
  REQUIRE(read(events, text, sizeof text - 1) > 0);
  server.sendText(R"({"v":1,"kill":9})");
  auto exited = server.receive();
  CHECK(WTERMSIG(exited.status) == SIGKILL);
  CHECK(isGone(child));
  CHECK(isGone(atoi(text)));
  close(events);
  close(log);
}

TEST_CASE("a child that left its group and session ends with its rank") {
  for (const bool killed : {true, false}) {
    CAPTURE(killed);
    TestServer server([&](const protocol::LaunchRequest&, int event_fd) {
      if (fork() == 0) {
        setsid();
        if (fork() == 0) {
          setsid();
          const std::string pid = std::to_string(getpid()) + "\n";
          [[maybe_unused]] ssize_t written = write(event_fd, pid.data(), pid.size());
        }
        sleep(600);
      }
      sleep(killed ? 600 : 1);
      return 0;
    });
    auto [events, log] = server.launch(1);
    CHECK(server.receive().type == protocol::LaunchReply::Type::Started);
    char text[32] = {};
    REQUIRE(read(events, text, sizeof text - 1) > 0);
    if (killed) server.sendText(R"({"v":1,"kill":1})");
    CHECK(server.receive().type == protocol::LaunchReply::Type::Exited);
    CHECK(kill(std::atoi(text), 0) != 0);  // killed before the engine hears of the end
    close(events);
    close(log);
  }
}

namespace {

/// A process that the server forked, and our end of its channel.
struct Process {
  pid_t pid = 0;
  int channel = -1;
  ~Process() { close(channel); }
};

void start(TestServer& server, uint64_t id, const std::string& said, Process& process) {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  process.channel = ends[0];
  auto [events, log] = server.launch(id, 0, 0, ends[1]);
  close(ends[1]);
  process.pid = server.receive().pid;
  CHECK(readAll(log) == said);
  close(events);
}

void checkEnded(const protocol::LaunchReply& reply, uint64_t id, const Process& process, int code) {
  CHECK(reply.type == protocol::LaunchReply::Type::Exited);
  CHECK(reply.id == id);
  CHECK(reply.pid == process.pid);
  CHECK(reply.at > 0);
  CHECK(WIFEXITED(reply.status));
  CHECK(WEXITSTATUS(reply.status) == code);
}

void again(Process& process, uint64_t id, const std::string& said) {
  auto [events, log] = TestServer::launchOver(process.channel, id, 0, 0, -1);
  CHECK(readAll(log) == said);
  close(events);
}

}  // namespace

TEST_CASE("a process that has a channel runs one rank after the other until one does not end well") {
  int calls = 0;
  TestServer server(
      [&](const protocol::LaunchRequest& request, int) {
        printf("%d\n", ++calls);
        return calls == 3 ? 7 : 0;
      },
      serve::Reuse::Often);
  Process first, second;
  start(server, 1, "1\n", first);
  checkEnded(TestServer::receiveFrom(first.channel), 1, first, 0);
  again(first, 1, "2\n");
  checkEnded(TestServer::receiveFrom(first.channel), 1, first, 0);
  again(first, 1, "3\n");
  checkEnded(server.receive(), 1, first, 7);
  CHECK(isGone(first.pid));
  CHECK(!protocol::receivePacket(first.channel));
  start(server, 4, "1\n", second);
  checkEnded(TestServer::receiveFrom(second.channel), 4, second, 0);
  server.sendText(R"({"v":1,"kill":4})");  // while it waits
  CHECK(WTERMSIG(server.receive().status) == SIGKILL);
  CHECK(isGone(second.pid));
}

TEST_CASE("a process that waits ends by itself once its channel is closed, and with the server") {
  TestServer server([](const protocol::LaunchRequest&, int) { return 0; }, serve::Reuse::Often);
  Process first, second;
  start(server, 1, "", first);
  checkEnded(TestServer::receiveFrom(first.channel), 1, first, 0);
  close(std::exchange(first.channel, -1));
  checkEnded(server.receive(), 1, first, 0);
  start(server, 2, "", second);
  checkEnded(TestServer::receiveFrom(second.channel), 2, second, 0);
  server.closeChannel();
  CHECK(isGone(second.pid));
}

TEST_CASE("a launch that a waiting process cannot read ends it, and the log says why") {
  TestServer server([](const protocol::LaunchRequest&, int) { return 0; }, serve::Reuse::Often);
  Process process;
  start(server, 1, "", process);
  checkEnded(TestServer::receiveFrom(process.channel), 1, process, 0);
  int log[2];
  REQUIRE(pipe2(log, O_CLOEXEC) == 0);
  REQUIRE(protocol::sendPacket(process.channel, "{", {log[1], log[1]}));
  close(log[1]);
  CHECK(readAll(log[0]).find("the launch cannot be carried out: ") == 0);
  checkEnded(server.receive(), 1, process, 127);
}

TEST_CASE("a worker with a process for each rank closes the channel and lets the server tell") {
  TestServer server([](const protocol::LaunchRequest&, int) { return 0; });
  Process process;
  start(server, 1, "", process);
  checkEnded(server.receive(), 1, process, 0);
  CHECK(!protocol::receivePacket(process.channel));
}

TEST_CASE("what others changed in a process is put back, or named") {
  const pid_t child = fork();
  if (child == 0) {
    const serve::Standing standing = serve::Standing::ofThisProcess();
    const int niceness = getpriority(PRIO_PROCESS, 0);
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlimit few{77, files.rlim_max};
    if (!standing.restore().empty() || setrlimit(RLIMIT_NOFILE, &few) != 0) _exit(1);
    if (!standing.restore().empty()) _exit(2);
    rlimit now{};
    if (getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur != files.rlim_cur) _exit(3);
    if (getuid() == 0) {
      if (setpriority(PRIO_PROCESS, 0, niceness + 1) != 0 || !standing.restore().empty()) _exit(4);
      if (getpriority(PRIO_PROCESS, 0) != niceness || setuid(65534) != 0) _exit(5);
    }
    if (niceness == 19) _exit(0);
    _exit(setpriority(PRIO_PROCESS, 0, niceness + 1) == 0 && standing.restore() == "niceness" ? 0 : 6);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a process that its rank changed for good runs no other rank, and one that can be put back does") {
  for (const bool for_good : {false, true}) {
    const auto child = [for_good](const protocol::LaunchRequest&, int) {
      rlimit files{};
      getrlimit(RLIMIT_NOFILE, &files);
      const rlimit few{77, for_good ? 77 : files.rlim_max};
      // Root can restore state that others cannot.
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
      if (for_good && syscall(SYS_capset, &header, none) != 0) return 1;
      return setrlimit(RLIMIT_NOFILE, &few) == 0 ? 0 : 1;
    };
    TestServer server(child, serve::Reuse::Often);
    Process process;
    start(server, 1, "", process);
    checkEnded(for_good ? server.receive() : TestServer::receiveFrom(process.channel), 1, process, 0);
  }
}

TEST_CASE("a process whose folder for temporary files cannot be cleared runs no other rank") {
  if (getuid() != 0) return;  // only root can mount
  const auto child = [](const protocol::LaunchRequest&, int) {
    const std::string at = std::string(getenv("TMPDIR")) + "/m";
    const bool mounted = unshare(CLONE_NEWNS) == 0 && mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         mkdir(at.c_str(), 0700) == 0 && mount("none", at.c_str(), "tmpfs", 0, nullptr) == 0;
    return mounted ? 0 : 7;
  };
  TestServer server(child, serve::Reuse::Often);
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const int log = server.launch(1, 0, 0, ends[1]).second;
  close(ends[1]);
  CHECK(server.receive().type == protocol::LaunchReply::Type::Started);
  const int status = server.receive().status;  // the server reports it, not the process
  const std::string said = readAll(log);
  close(ends[0]);
  if (WEXITSTATUS(status) == 7) return;  // the process may not do that
  CHECK(status == 0);
  CHECK(said.find("/m: another file system is mounted there") != std::string::npos);
}

TEST_CASE("a closed channel kills the children") {
  TestServer server([](const protocol::LaunchRequest&, int) {
    sleep(1000);
    return 0;
  });
  auto [events, log] = server.launch(1);
  pid_t child = server.receive().pid;
  server.closeChannel();
  CHECK(isGone(child));
  close(events);
  close(log);
}

TEST_CASE("nonsense is refused and the server goes on") {
  TestServer server([](const protocol::LaunchRequest&, int) { return 0; });
  for (const char* text : {"{", "[]", R"({"v":1,"launch":3})", R"({"v":1,"kill":77})"}) {
    server.sendText(text);
    if (std::string(text).find("kill") != std::string::npos) continue;
    auto refused = server.receive();
    CHECK(refused.type == protocol::LaunchReply::Type::Exited);
    CHECK(WEXITSTATUS(refused.status) == 127);
  }
  auto [events, log] = server.launch(4);
  CHECK(server.receive().type == protocol::LaunchReply::Type::Started);
  CHECK(server.receive().status == 0);
  close(events);
  close(log);
}

TEST_CASE("events to a reader that is gone are dropped") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  serve::EventWriter events(ends[1]);
  CHECK(events.started());
  close(ends[0]);
  CHECK(!events.started());
  CHECK(!events.failed("nobody listens"));
  close(ends[1]);
}

TEST_CASE("a trial has one last event, whichever thread comes first") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  {
    serve::EventWriter events(ends[1]);
    CHECK(events.progress(1, 2, "steps"));
    CHECK(events.lostOthers("rank 1 is gone"));
    CHECK(!events.failed("so this failed, too"));
    CHECK(!events.progress(2, 2, "steps"));
  }
  close(ends[1]);
  std::string said(4096, ' ');
  said.resize(size_t(read(ends[0], said.data(), said.size())));
  close(ends[0]);
  CHECK(std::count(said.begin(), said.end(), '\n') == 2);
  CHECK(said.find("rank 1 is gone") != std::string::npos);
  CHECK(said.find("so this failed") == std::string::npos);
}

TEST_CASE("a rank that is alone has the cores and memory of all slots, unless one of them is not bound") {
  protocol::TrialSpec spec;
  const auto slot = [](const std::vector<int>& cores, int node) {
    return llvm::json::Object{{"cores", llvm::json::Array(cores)}, {"memory_nodes", llvm::json::Array{node}}};
  };
  spec.slots = llvm::json::Array{slot({3, 1}, 0), slot({5}, 1)};
  spec.world_size = 1;
  CHECK(serve::rankCores(spec, 0) == std::vector<int>{1, 3, 5});
  CHECK(serve::rankMemoryNodes(spec, 0) == std::vector<int>{0, 1});
  spec.world_size = 2;
  CHECK(serve::rankCores(spec, 1) == std::vector<int>{5});
  CHECK(serve::rankMemoryNodes(spec, 0) == std::vector<int>{0});
  spec.world_size = 1;
  spec.slots.push_back(llvm::json::Object{{"device", "cpu"}});
  CHECK(serve::rankCores(spec, 0).empty());
}

TEST_CASE("a launcher's number of ranks on this host counts only if it is one") {
  for (const auto& [text, count] : {std::pair("4", 4U), {"0", 1U}, {"-2", 1U}, {"4x", 1U}, {"", 1U}}) {
    setenv("LOCAL_WORLD_SIZE", text, 1);
    CHECK(serve::localRanks() == count);
  }
  unsetenv("LOCAL_WORLD_SIZE");
  CHECK(serve::localRanks() == 1);
}

TEST_CASE("memory is bound to nodes and the system says so") {
  // Runs in a process of its own, because bindings stay.
  TestServer server([](const protocol::LaunchRequest&, int) {
    const std::string why = serve::bindMemory({0});
    if (!why.empty()) return 3;  // some containers forbid it
    llvm::json::Object environment;
    serve::describePlace(environment);
    const llvm::json::Array* nodes = environment.getArray("memory_nodes");
    const bool bound = nodes && nodes->size() == 1 && environment.getArray("cores");
    return bound && serve::bindMemory({}).empty() && !serve::bindMemory({1000}).empty() ? 7 : 1;
  });
  auto [events, log] = server.launch(1);
  server.receive();
  const int code = WEXITSTATUS(server.receive().status);
  CHECK((code == 7 || code == 3));
  close(events);
  close(log);
}
