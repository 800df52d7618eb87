#include "runtime/worker/serve/serve.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "runtime/plan/json.h"
#include "runtime/worker/serve/memory_policy.h"

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
    CHECK(receive().type == plan::LaunchReply::Type::Ready);
  }
  ~TestServer() {
    if (fd_ >= 0) close(fd_);
    waitpid(pid_, nullptr, 0);
  }

  plan::LaunchReply receive() {
    pollfd waiting{fd_, POLLIN, 0};
    REQUIRE(poll(&waiting, 1, 10000) == 1);
    char text[4096];
    ssize_t size = recv(fd_, text, sizeof text, 0);
    REQUIRE(size > 0);
    return llvm::cantFail(plan::launchReplyFromJson(llvm::cantFail(plan::parseJson({text, size_t(size)}))));
  }

  void sendText(const std::string& text, const std::vector<int>& fds = {}) {
    iovec data{const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (!fds.empty()) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(part), fds.data(), fds.size() * sizeof(int));
    }
    REQUIRE(sendmsg(fd_, &message, 0) == ssize_t(text.size()));
  }

  /// Launches and returns the read ends of the event pipe and the log.
  std::pair<int, int> launch(uint64_t id, unsigned rank = 0, int core = 0) {
    plan::LaunchRequest request;
    request.id = id;
    request.rank = rank;
    request.environment = {"EXPC_TEST_WORD=hello=there"};
    request.spec.trial = "17";
    request.spec.workload = "test";
    request.spec.slots.push_back(llvm::json::Object{{"device", "cpu"}, {"cores", llvm::json::Array{core}}});
    int events[2], log[2];
    REQUIRE(pipe2(events, O_CLOEXEC) == 0);
    REQUIRE(pipe2(log, O_CLOEXEC) == 0);
    sendText(plan::canonicalJson(plan::toJson(request)), {events[1], log[1]});
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
  TestServer server([](const plan::LaunchRequest& request, int fd) {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    printf("%s %d %d\n", getenv("EXPC_TEST_WORD"), CPU_COUNT(&set), getpgid(0) == getpid());
    serve::EventWriter(fd).progress(1, 2, "steps");
    return int(request.id);
  });
  auto [events, log] = server.launch(5);
  auto started = server.receive();
  CHECK(started.type == plan::LaunchReply::Type::Started);
  CHECK(started.id == 5);
  CHECK(started.pid > 0);
  auto exited = server.receive();
  CHECK(exited.type == plan::LaunchReply::Type::Exited);
  CHECK(WIFEXITED(exited.status));
  CHECK(WEXITSTATUS(exited.status) == 5);
  CHECK(readAll(log) == "hello=there 1 1\n");
  auto event = llvm::cantFail(plan::eventFromLine(readAll(events)));
  CHECK(event.done == 1);
}

TEST_CASE("an exception ends the rank as failed") {
  TestServer server([](const plan::LaunchRequest&, int) -> int { throw std::runtime_error("no such file: x"); });
  auto [events, log] = server.launch(1);
  server.receive();
  CHECK(WEXITSTATUS(server.receive().status) == 1);
  CHECK(readAll(events).find("no such file: x") != std::string::npos);
  close(log);
}

TEST_CASE("a kill ends a child and what it started") {
  TestServer server([](const plan::LaunchRequest&, int fd) {
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
    TestServer server([&](const plan::LaunchRequest&, int event_fd) {
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
    CHECK(server.receive().type == plan::LaunchReply::Type::Started);
    char text[32] = {};
    REQUIRE(read(events, text, sizeof text - 1) > 0);
    if (killed) server.sendText(R"({"v":1,"kill":1})");
    CHECK(server.receive().type == plan::LaunchReply::Type::Exited);
    CHECK(kill(std::atoi(text), 0) != 0);  // before the engine hears of the end
    close(events);
    close(log);
  }
}

/// Launches, and returns the process and status of the rank once it is over; its log holds `said`.
static std::pair<pid_t, int> launched(TestServer& server, uint64_t id, const std::string& said, int core = 0) {
  auto [events, log] = server.launch(id, 0, core);
  const auto started = server.receive();
  const auto exited = server.receive();
  CHECK(exited.type == plan::LaunchReply::Type::Exited);
  CHECK(exited.id == id);
  CHECK(exited.pid == started.pid);
  CHECK(readAll(log) == said);
  close(events);
  return {started.pid, exited.status};
}

TEST_CASE("a process runs one rank after the other until one does not end well") {
  int calls = 0;
  TestServer server(
      [&](const plan::LaunchRequest& request, int) {
        printf("%d\n", ++calls);
        return request.id == 3 ? 7 : 0;
      },
      serve::Reuse::Often);
  const auto [first, status] = launched(server, 1, "1\n");
  CHECK(status == 0);
  CHECK(launched(server, 2, "2\n").first == first);
  const auto third = launched(server, 3, "3\n");
  CHECK(third.first == first);
  CHECK(WEXITSTATUS(third.second) == 7);
  const auto fourth = launched(server, 4, "1\n");
  CHECK(fourth.first != first);
  CHECK(isGone(first));
  server.closeChannel();
  CHECK(isGone(fourth.first));
}

TEST_CASE("a process that was killed between two ranks is replaced, and one that is bound elsewhere is not taken") {
  TestServer server(
      [](const plan::LaunchRequest&, int) {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        printf("%d\n", CPU_ISSET(0, &set) != 0);
        return 0;
      },
      serve::Reuse::Often);
  const pid_t first = launched(server, 1, "1\n").first;
  if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
    const pid_t other = launched(server, 2, "0\n", 1).first;
    CHECK(other != first);
    CHECK(launched(server, 3, "1\n").first == first);
    CHECK(launched(server, 4, "0\n", 1).first == other);
  }
  kill(first, SIGKILL);
  CHECK(isGone(first));
  CHECK(launched(server, 5, "1\n").first != first);
}

TEST_CASE("a closed channel kills the children") {
  TestServer server([](const plan::LaunchRequest&, int) {
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
  TestServer server([](const plan::LaunchRequest&, int) { return 0; });
  for (const char* text : {"{", "[]", R"({"v":1,"launch":3})", R"({"v":1,"kill":77})"}) {
    server.sendText(text);
    if (std::string(text).find("kill") != std::string::npos) continue;
    auto refused = server.receive();
    CHECK(refused.type == plan::LaunchReply::Type::Exited);
    CHECK(WEXITSTATUS(refused.status) == 127);
  }
  auto [events, log] = server.launch(4);
  CHECK(server.receive().type == plan::LaunchReply::Type::Started);
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
  said.resize(static_cast<size_t>(read(ends[0], said.data(), said.size())));
  close(ends[0]);
  CHECK(std::count(said.begin(), said.end(), '\n') == 2);
  CHECK(said.find("rank 1 is gone") != std::string::npos);
  CHECK(said.find("so this failed") == std::string::npos);
}

TEST_CASE("a rank that is alone has the cores and memory of all slots, unless one of them is not bound") {
  plan::TrialSpec spec;
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

TEST_CASE("memory is bound to nodes and the system says so") {
  // In a process of its own: what is bound stays bound.
  TestServer server([](const plan::LaunchRequest&, int) {
    const std::string why = serve::bindMemory({0});
    if (!why.empty()) return 3;  // a container that forbids it
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
