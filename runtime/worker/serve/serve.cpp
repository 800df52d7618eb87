#include "runtime/worker/serve/serve.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "runtime/plan/json.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/serve/memory_group.h"
#include "runtime/worker/serve/strangers.h"

namespace expc::serve {
namespace {

constexpr size_t kMaxPacket = 256 << 10;

double bootSeconds() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Packet {
  std::string text;
  int event_fd = -1, log_fd = -1;  // owned
};

class Server {
 public:
  Server(int control_fd, const Child& child) : control_fd_(control_fd), child_(child) {}
  int run();

 private:
  std::optional<Packet> receive();
  bool send(const plan::LaunchReply& reply);
  void handle(Packet packet);
  void launch(const plan::LaunchRequest& request, int event_fd, int log_fd);
  void refuse(uint64_t id, int log_fd, const std::string& why);
  void reap();
  void killAll();
  std::string memoryEvidence(const plan::LaunchReply& exited);
  std::set<pid_t> known() const;

  int control_fd_;
  const Child& child_;
  int signal_fd_ = -1;
  sigset_t old_mask_{};
  bool open_ = true;
  std::map<uint64_t, pid_t> children_;  // by launch id
  MemoryGroup group_;
  KernelLog log_;
  uint64_t kills_told_ = 0;
};

int Server::run() {
  setpgid(0, 0);  // a Ctrl-C in the terminal is the engine's business
  std::signal(SIGPIPE, SIG_IGN);
  // What a rank started outside of its process group comes here when the rank dies, and dies too.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  fcntl(control_fd_, F_SETFD, FD_CLOEXEC);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGCHLD);
  sigprocmask(SIG_BLOCK, &mask, &old_mask_);
  signal_fd_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signal_fd_ < 0) {
    std::fprintf(stderr, "the launch server cannot watch its children: %s\n", std::strerror(errno));
    return 1;
  }
  send(plan::LaunchReply{});
  while (open_) {
    pollfd fds[] = {{control_fd_, POLLIN, 0}, {signal_fd_, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[1].revents) reap();
    if (fds[0].revents) {
      if (auto packet = receive()) handle(std::move(*packet));
    }
  }
  killAll();
  return 0;
}

std::optional<Packet> Server::receive() {
  Packet packet;
  static const auto buffer = std::make_unique_for_overwrite<char[]>(kMaxPacket);
  iovec data{buffer.get(), kMaxPacket};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = recvmsg(control_fd_, &message, MSG_CMSG_CLOEXEC);
  if (size < 0 && errno == EINTR) return std::nullopt;
  if (size <= 0) {
    open_ = false;
    return std::nullopt;
  }
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    int fds[2] = {-1, -1};
    std::memcpy(fds, CMSG_DATA(part), std::min<size_t>(part->cmsg_len - CMSG_LEN(0), sizeof fds));
    packet.event_fd = fds[0];
    packet.log_fd = fds[1];
  }
  // A packet that was cut does not parse and is refused there.
  packet.text.assign(buffer.get(), size_t(size));
  return packet;
}

bool Server::send(const plan::LaunchReply& reply) {
  std::string text = plan::canonicalJson(plan::toJson(reply));
  while (::send(control_fd_, text.data(), text.size(), MSG_NOSIGNAL) < 0) {
    if (errno == EINTR) continue;
    open_ = false;
    return false;
  }
  return true;
}

void Server::handle(Packet packet) {
  auto value = plan::parseJson(packet.text);
  const llvm::json::Object* object = value ? value->getAsObject() : nullptr;
  if (!value) {
    refuse(0, packet.log_fd, llvm::toString(value.takeError()));
  } else if (auto id = object ? object->getInteger("kill") : std::nullopt) {
    auto found = children_.find(*id);
    if (found != children_.end()) kill(-found->second, SIGKILL);
  } else {
    uint64_t launch_id = object ? uint64_t(object->getInteger("launch").value_or(0)) : 0;
    if (auto request = plan::launchRequestFromJson(*value)) {
      launch(*request, packet.event_fd, packet.log_fd);
    } else {
      refuse(launch_id, packet.log_fd, llvm::toString(request.takeError()));
    }
  }
  if (packet.event_fd >= 0) close(packet.event_fd);
  if (packet.log_fd >= 0) close(packet.log_fd);
}

void Server::launch(const plan::LaunchRequest& request, int event_fd, int log_fd) {
  if (event_fd < 0 || log_fd < 0) return refuse(request.id, log_fd, "the request came without its two descriptors");
  pid_t server = getpid();
  std::fflush(nullptr);
  pid_t pid = fork();
  if (pid < 0) return refuse(request.id, log_fd, std::string("fork: ") + std::strerror(errno));
  if (pid == 0) {
    close(control_fd_);
    close(signal_fd_);
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    runChild(request, event_fd, log_fd, server, child_);
  }
  setpgid(pid, pid);  // on both sides: whoever is first
  children_[request.id] = pid;
  plan::LaunchReply reply;
  reply.type = plan::LaunchReply::Type::Started;
  reply.id = request.id;
  reply.pid = pid;
  send(reply);
}

void Server::refuse(uint64_t id, int log_fd, const std::string& why) {
  std::string text = "the launch server refused the request: " + why + "\n";
  [[maybe_unused]] ssize_t written = ::write(log_fd >= 0 ? log_fd : STDERR_FILENO, text.data(), text.size());
  plan::LaunchReply reply;
  reply.type = plan::LaunchReply::Type::Exited;
  reply.id = id;
  reply.status = W_EXITCODE(127, 0);
  reply.at = bootSeconds();
  send(reply);
}

void Server::reap() {
  signalfd_siginfo info;
  while (read(signal_fd_, &info, sizeof info) > 0) {
  }
  for (auto it = children_.begin(); it != children_.end();) {
    pid_t pid = it->second;
    siginfo_t state{};
    if (waitid(P_PID, pid, &state, WEXITED | WNOHANG | WNOWAIT) != 0 || state.si_pid != pid) {
      ++it;
      continue;
    }
    plan::LaunchReply reply;
    reply.at = bootSeconds();
    // What the rank left behind goes with it; until it is reaped its number cannot be another's.
    kill(-pid, SIGKILL);
    killStrangers(known());
    reply.type = plan::LaunchReply::Type::Exited;
    reply.id = it->first;
    reply.pid = pid;
    waitpid(pid, &reply.status, 0);
    reply.out_of_memory = memoryEvidence(reply);
    it = children_.erase(it);
    send(reply);
  }
}

/// That the kernel killed the rank, or what it started, for memory. Of several ranks it is the first one's that ended.
std::string Server::memoryEvidence(const plan::LaunchReply& exited) {
  const uint64_t kills = group_.kills(), new_kills = kills - std::exchange(kills_told_, kills);
  if (new_kills > 0)
    return fmt::format("the kernel killed {} process{} of it for memory, as {} says", new_kills,
                       new_kills == 1 ? "" : "es", group_.file());
  if (!WIFSIGNALED(exited.status) || WTERMSIG(exited.status) != SIGKILL) return "";
  const std::string line = log_.killed(exited.pid);
  return line.empty() ? "" : fmt::format("the kernel's log says '{}'", line);
}

void Server::killAll() {
  for (auto& [id, pid] : children_) kill(-pid, SIGKILL);
  for (auto& [id, pid] : children_) waitpid(pid, nullptr, 0);
  children_.clear();
  killStrangers({});
}

std::set<pid_t> Server::known() const {
  std::set<pid_t> pids;
  for (const auto& [id, pid] : children_) pids.insert(pid);
  return pids;
}

}  // namespace

int run(int control_fd, const Child& child) { return Server(control_fd, child).run(); }

}  // namespace expc::serve
