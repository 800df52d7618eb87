// Where a trial's temporary files go.

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/base/process.h"
#include "runtime/worker/serve/child.h"

namespace expc::serve {
namespace {

namespace fs = std::filesystem;

/// What all trials of this user have their folders in; "" where somebody else has it or nobody can.
std::string ownFolder() {
  const char* named = std::getenv("TMPDIR");
  const std::string folder =
      (fs::path(named && *named == '/' ? named : "/tmp") / fmt::format("expc-scratch-{}", getuid())).string();
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return "";
  struct stat state{};
  const bool ours = lstat(folder.c_str(), &state) == 0 && S_ISDIR(state.st_mode) && state.st_uid == getuid() &&
                    (state.st_mode & 077) == 0;
  return ours ? folder : "";
}

const std::string& base() {
  static const std::string folder = ownFolder();
  return folder;
}

/// "1b4e28ba-4026531836-": of this boot and this namespace of processes.
const std::string& here() {
  static const std::string mark = [] {
    struct stat space{};
    stat("/proc/self/ns/pid", &space);
    return fmt::format("{}-{}-", base::bootId().substr(0, 8), space.st_ino);
  }();
  return mark;
}

/// Whether there is nothing in a folder, and nothing in the way of the next one who puts something there.
bool isAsMade(const std::string& folder) {
  struct stat state{};
  std::error_code failed;
  return lstat(folder.c_str(), &state) == 0 && state.st_mode == (S_IFDIR | 0700) && fs::is_empty(folder, failed);
}

pid_t kept_of = 0;  // the process that left its folder empty; a forked one has none yet

}  // namespace

std::string scratchFolder(pid_t pid) { return base().empty() ? "" : fmt::format("{}/{}{}", base(), here(), pid); }

bool makeScratch() {
  const std::string folder = scratchFolder(getpid());
  if (!folder.empty() && mkdir(folder.c_str(), 0700) == 0) return true;
  if (!folder.empty() && errno == EEXIST) {
    if (kept_of == getpid()) return true;
    removeScratch(getpid());  // of one that had this number before
    if (mkdir(folder.c_str(), 0700) == 0) return true;
  }
  std::fprintf(stderr, "the trial has no folder for temporary files of its own: %s\n",
               folder.empty() ? "its parent is not ours" : std::strerror(errno));
  return false;
}

void clearScratch() {
  kept_of = isAsMade(scratchFolder(getpid())) ? getpid() : 0;
  if (kept_of == 0) removeScratch(getpid());
}

void removeScratch(pid_t pid) {
  std::error_code ignored;
  const std::string folder = scratchFolder(pid);
  if (!folder.empty() && rmdir(folder.c_str()) != 0 && errno != ENOENT) fs::remove_all(folder, ignored);
}

void removeLeftScratch() {
  if (base().empty()) return;
  std::error_code failed;
  for (fs::directory_iterator at(base(), failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    llvm::StringRef rest = name;
    int pid = 0;
    if (!rest.consume_front(here()) || !llvm::to_integer(rest, pid, 10) || pid <= 0) continue;
    if (kill(pid, 0) != 0 && errno == ESRCH) removeScratch(pid);
  }
}

}  // namespace expc::serve
