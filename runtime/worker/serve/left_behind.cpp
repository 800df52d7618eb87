// Removes what a rank leaves behind: its folder for temporary files, and processes. Folders carry
// the boot and the PID namespace in their names, because the number of a process says nothing in
// another container or after a restart.

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/worker/serve/child.h"

namespace expc::serve {
namespace {

namespace fs = std::filesystem;

/// The folder that holds the trials' temporary folders of this user; "" if it cannot be made, or is
/// not ours alone.
std::string ownFolder() {
  const char* named = std::getenv("TMPDIR");
  const std::string folder =
      (fs::path(named && *named == '/' ? named : "/tmp") / fmt::format("expc-scratch-{}", getuid())).string();
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
  // /tmp is shared: somebody may have made a folder or a link of that name for us.
  struct stat state{};
  const bool ours = lstat(folder.c_str(), &state) == 0 && S_ISDIR(state.st_mode) && state.st_uid == getuid() &&
                    (state.st_mode & 077) == 0;
  return ours ? folder : "";
}

/// Looked up once, so that a trial that changes TMPDIR does not move it.
const std::string& base() {
  static const std::string folder = ownFolder();
  return folder;
}

/// Whether the folder is empty and still has the rights that it was made with.
bool isAsMade(const std::string& folder) {
  struct stat state{};
  std::error_code failed;
  return lstat(folder.c_str(), &state) == 0 && state.st_mode == (S_IFDIR | 0700) && fs::is_empty(folder, failed);
}

/// The process whose folder was left empty and kept; after a fork, the child has none yet.
pid_t kept_of = 0;

/// Time for a process that sleeps in the kernel to die.
constexpr auto kPatience = std::chrono::seconds(5);

/// The children of this process, by the kernel's own list if it is built in (CONFIG_PROC_CHILDREN),
/// or else by a search through /proc. The list is per thread, and callers are single-threaded.
std::vector<pid_t> children() {
  static base::KernelFile list_file("/proc/thread-self/children");
  std::vector<pid_t> found;
  if (const auto list = list_file.text()) {
    std::istringstream pids(*list);
    for (pid_t pid; pids >> pid;) found.push_back(pid);
    return found;
  }
  for (const auto& [pid, parent] : base::parentsOfAll())
    if (parent == getpid()) found.push_back(pid);
  return found;
}

}  // namespace

std::string scratchFolder(pid_t pid) {
  return base().empty() ? "" : fmt::format("{}/{}{}", base(), base::pidMark(), pid);
}

bool makeScratch() {
  const std::string folder = scratchFolder(getpid());
  if (!folder.empty() && mkdir(folder.c_str(), 0700) == 0) return true;
  if (!folder.empty() && errno == EEXIST) {
    if (kept_of == getpid()) return true;
    removeScratch(getpid());  // an earlier process had this number
    if (mkdir(folder.c_str(), 0700) == 0) return true;
  }
  std::fprintf(stderr, "the trial has no folder for temporary files of its own: %s\n",
               folder.empty() ? "its parent is not ours" : std::strerror(errno));
  return false;
}

bool clearScratch() {
  const std::string folder = scratchFolder(getpid());
  kept_of = isAsMade(folder) ? getpid() : 0;
  if (kept_of == 0) removeScratch(getpid());
  return kept_of != 0 || folder.empty() || !files::isThere(folder);
}

void removeScratch(pid_t pid) {
  const std::string folder = scratchFolder(pid);
  // The quick way for the usual case: the folder is empty or missing.
  if (folder.empty() || rmdir(folder.c_str()) == 0 || errno == ENOENT) return;
  if (const std::string stays = files::removeTree(folder); !stays.empty()) std::fprintf(stderr, "%s\n", stays.c_str());
}

void removeLeftScratch() {
  if (base().empty()) return;
  std::error_code failed;
  for (fs::directory_iterator at(base(), failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    StringRef rest = name;
    int pid = 0;
    if (!rest.consume_front(base::pidMark()) || !llvm::to_integer(rest, pid, 10) || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) removeScratch(pid);
  }
}

Strangers killStrangers(const std::set<pid_t>& known) {
  std::set<pid_t> alive, left;
  const auto end = base::Clock::now() + kPatience;
  while (base::Clock::now() < end) {
    left.clear();
    for (const pid_t child : children()) {
      if (known.count(child)) continue;
      if (waitpid(child, nullptr, WNOHANG) != 0) continue;  // has been reaped now, or is no child any more
      left.insert(child);
      alive.insert(child);
      kill(child, SIGKILL);
    }
    // The killed need a moment to die, and their children come to us only then.
    if (left.empty()) break;
    usleep(500);
  }
  return {unsigned(alive.size()), {left.begin(), left.end()}};
}

}  // namespace expc::serve
