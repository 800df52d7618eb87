#include "runtime/worker/serve/strangers.h"

#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace expc::serve {
namespace {

constexpr auto kPatience = std::chrono::seconds(5);  // for one that sleeps in the kernel

/// From /proc/PID/stat: "12 (name) S 1 …", where the name may hold anything, parentheses too.
pid_t parentOf(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/stat");
  std::string text;
  std::getline(in, text, '\0');
  const size_t end = text.rfind(')');
  return end == std::string::npos || end + 4 > text.size() ? -1 : std::atoi(text.c_str() + end + 4);
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  const std::string self = std::to_string(getpid());
  // The kernel's own list, where it is built in: its callers are single-threaded, so one thread has all children.
  std::ifstream list("/proc/self/task/" + self + "/children");
  if (list) {
    for (pid_t pid; list >> pid;) found.push_back(pid);
    return found;
  }
  std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc"), closedir);
  while (const dirent* entry = folder ? readdir(folder.get()) : nullptr) {
    if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parentOf(entry->d_name) == getpid())
      found.push_back(std::atoi(entry->d_name));
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
