// The launch server: one loop over two descriptors, requests from the engine and the deaths of
// children. It is single-threaded, because it forks. Whatever a rank leaves behind (processes,
// files) is removed before the engine hears of its end, so that the next trial starts on a quiet
// machine.

#include "runtime/worker/serve/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/text.h"
#include "runtime/protocol/packet.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/serve/memory_group.h"

namespace expc::serve {
namespace {

/// A forked process that runs a rank.
struct Rank {
  pid_t pid = 0;
  uint64_t launch = 0;  // the launch that it was forked for
  RankMemory memory;
};

/// The server. Its members are made in order: the control group before the standing that is
/// measured in it.
class Server {
 public:
  Server(int control_fd, const Child& child, Reuse reuse) : control_fd_(control_fd), child_(child), reuse_(reuse) {}
  int run();

 private:
  bool send(const protocol::LaunchReply& reply);
  void handle(protocol::Packet packet);
  void launch(const protocol::LaunchRequest& request, protocol::Packet packet);
  void refuse(uint64_t id, int log_fd, const std::string& why);
  void reap();
  void killAll();
  std::string memoryEvidence(Rank& rank, const protocol::LaunchReply& exited);
  std::set<pid_t> known() const;

  int control_fd_;
  const Child& child_;
  const Reuse reuse_;
  int signal_fd_ = -1;
  sigset_t old_mask_{};
  bool open_ = true;
  std::vector<Rank> ranks_;
  /// Leftovers of ranks that cannot be killed. They are reported once and not waited for again.
  std::set<pid_t> stuck_;
  MemoryGroup group_;
  const Standing standing_ = Standing::ofThisProcess();  // taken within the control group
  /// Deaths whose group gave no evidence may be in the kernel's log.
  KernelLog log_;
  /// Kills in the server's own group that were reported already.
  uint64_t kills_told_ = 0;
};

int Server::run() {
  setpgid(0, 0);  // Ctrl-C in the terminal is for the engine to handle
  std::signal(SIGPIPE, SIG_IGN);
  // Processes that a rank has moved out of its process group come to this process when the rank
  // dies, and die then.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fcntl(control_fd_, F_SETFD, FD_CLOEXEC);
  // Deaths of children arrive through a descriptor, which poll() can wait for. Ranks restore the
  // old mask.
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signal_fd_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) {
    std::fprintf(stderr, "the launch server cannot watch its children: %s\n", std::strerror(errno));
    return 1;
  }
  removeLeftScratch();
  send(protocol::LaunchReply{});
  while (open_) {
    pollfd fds[] = {{control_fd_, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    // Deaths first: a request may be for the slots of a rank that has just ended.
    if (fds[1].revents) reap();
    if (fds[0].revents) {
      auto packet = protocol::receivePacket(control_fd_);
      open_ = packet.has_value();
      if (packet) handle(std::move(*packet));
    }
  }
  killAll();
  return 0;
}

bool Server::send(const protocol::LaunchReply& reply) {
  if (!protocol::sendPacket(control_fd_, canonicalJson(base::written(reply)))) open_ = false;
  return open_;
}

void Server::handle(protocol::Packet packet) {
  auto value = parseJson(packet.text);
  const json::Object* object = value ? value->getAsObject() : nullptr;
  if (!value) return refuse(0, packet.log_fd, toString(value.takeError()));
  // A request is {"kill": ID}, {"stop": ID} or a launch.
  const auto idOf = [&](StringRef name) -> std::optional<uint64_t> {
    return object ? object->getInteger(name) : std::nullopt;
  };
  const auto killed = idOf("kill"), stopped = idOf("stop");
  for (const Rank& rank : ranks_) {
    if (killed == rank.launch) kill(-rank.pid, SIGKILL);
    if (stopped == rank.launch) kill(rank.pid, SIGTERM);
  }
  if (killed || stopped) return;
  const uint64_t id = idOf("launch").value_or(0);
  auto request = base::readRecord<protocol::LaunchRequest>(*value, "the launch request");
  if (!request) return refuse(id, packet.log_fd, toString(request.takeError()));
  if (packet.event_fd < 0 || packet.log_fd < 0)
    return refuse(request->id, packet.log_fd, "the request came without its two descriptors");
  launch(*request, std::move(packet));
}

void Server::launch(const protocol::LaunchRequest& request, protocol::Packet packet) {
  const pid_t server = getpid();
  const RankMemory memory(group_, request.spec.memory_limit);
  // Buffered output would be written twice, by the child too.
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    for (const int fd : {control_fd_, signal_fd_}) close(fd);
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    if (reuse_ == Reuse::Never) packet.next_fd.close();
    runChild(request, std::move(packet), server, memory, standing_, child_);
  }
  if (pid < 0) return refuse(request.id, packet.log_fd, std::string("fork: ") + std::strerror(errno));
  // Parent and child both set it: whoever comes first.
  setpgid(pid, pid);
  ranks_.push_back({pid, request.id, memory});
  send({.type = protocol::LaunchReply::Type::Started, .id = request.id, .pid = pid});
}

void Server::refuse(uint64_t id, int log_fd, const std::string& why) {
  std::string text = "the launch server refused the request: " + why + "\n";
  [[maybe_unused]] ssize_t written = ::write(log_fd >= 0 ? log_fd : STDERR_FILENO, text.data(), text.size());
  send(endOf(id, 0, W_EXITCODE(127, 0), base::bootSeconds()));
}

/// Reaps ranks that have ended, cleans up after them and reports each.
void Server::reap() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) > 0) {
  }
  std::erase_if(ranks_, [&](Rank& rank) {
    siginfo_t state{};
    // WNOWAIT leaves the rank a zombie for the moment.
    if (waitid(P_PID, rank.pid, &state, WEXITED | WNOHANG | WNOWAIT) != 0 || state.si_pid != rank.pid) return false;
    const double at = base::bootSeconds();
    // Leftovers in its process group die with it. Until the rank is reaped, its number cannot
    // belong to another.
    kill(-rank.pid, SIGKILL);
    std::vector<int> stuck = killStrangers(known()).left;
    stuck_.insert(stuck.begin(), stuck.end());
    int status = 0;
    waitpid(rank.pid, &status, 0);
    removeScratch(rank.pid);
    protocol::LaunchReply reply = endOf(rank.launch, rank.pid, status, at);
    reply.out_of_memory = memoryEvidence(rank, reply);
    reply.stuck = std::move(stuck);
    send(reply);
    return true;
  });
}

/// The evidence that the kernel killed the rank, or a process of it, for memory; "" if there is
/// none. If ranks have no groups of their own, a kill counts for the first rank that ends after it.
std::string Server::memoryEvidence(Rank& rank, const protocol::LaunchReply& exited) {
  const auto killed = [](uint64_t count, const std::string& says) {
    return fmt::format("the kernel killed {} of it for memory, as {}", base::counted(count, "process"), says);
  };
  if (const uint64_t own = rank.memory.newKills(); own > 0) return killed(own, rank.memory.evidence());
  const uint64_t kills = group_.kills(), new_kills = kills - std::exchange(kills_told_, kills);
  if (new_kills > 0) return killed(new_kills, group_.file() + " says");
  if (!WIFSIGNALED(exited.status) || WTERMSIG(exited.status) != SIGKILL) return "";
  const std::string line = log_.killed(exited.pid);
  return line.empty() ? "" : fmt::format("the kernel's log says '{}'", line);
}

void Server::killAll() {
  for (const Rank& rank : ranks_) kill(-rank.pid, SIGKILL);
  for (const Rank& rank : ranks_) {
    waitpid(rank.pid, nullptr, 0);
    removeScratch(rank.pid);
  }
  ranks_.clear();
  killStrangers({});
}

std::set<pid_t> Server::known() const {
  std::set<pid_t> pids = stuck_;
  for (const Rank& rank : ranks_) pids.insert(rank.pid);
  return pids;
}

}  // namespace

int run(int control_fd, const Child& child, Reuse reuse) { return Server(control_fd, child, reuse).run(); }

}  // namespace expc::serve
