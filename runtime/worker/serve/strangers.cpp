#include "runtime/worker/serve/strangers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/process.h"

namespace expc::serve {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);  // for one that sleeps in the kernel

/// The kernel's own list, where it is built in: its callers are single-threaded, so one thread has all children. The
/// file stays open, since finding it takes longer than reading it.
std::optional<std::string> childList() {
  static pid_t owner = 0;
  static int fd = -1;
  if (owner != getpid()) {
    if (fd >= 0) close(fd);  // of the process that forked this one
    owner = getpid();
    fd = open(("/proc/self/task/" + std::to_string(owner) + "/children").c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (fd < 0) return std::nullopt;
  std::string text;
  char piece[4096];
  ssize_t size = 0;
  while ((size = pread(fd, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0) text.append(piece, size);
  return size == 0 ? std::optional(std::move(text)) : std::nullopt;
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  if (const auto list = childList()) {
    std::istringstream pids(*list);
    for (pid_t pid; pids >> pid;) found.push_back(pid);
    return found;
  }
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    const pid_t pid = std::atoi(entry->d_name);  // 0 of what is no process
    if (pid > 0 && base::processOf(pid).parent == getpid()) found.push_back(pid);
  }
  return found;
}

}  // namespace

Strangers killStrangers(const std::set<pid_t>& known) {
  std::set<pid_t> alive, left;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    left.clear();
    for (const pid_t child : children()) {
      if (known.count(child)) continue;
      if (waitpid(child, nullptr, WNOHANG) != 0) continue;  // dead already
      left.insert(child);
      alive.insert(child);
      kill(child, SIGKILL);
    }
    if (left.empty()) break;
    usleep(500);
  }
  return {static_cast<unsigned>(alive.size()), {left.begin(), left.end()}};
}

}  // namespace expc::serve
