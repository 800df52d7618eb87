// Leases by flock(2). The content of a lock's file is for people and for stuck processes: the first line names the
// owner, further lines "stuck PID STARTED" name processes that outlive their run. The folder is open to all users like
// /tmp, so files of others are treated as hostile: no links are followed, texts are cut and cleaned.

#include "runtime/machine/leases.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/printable.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"

namespace expc::machine {
namespace {

// Not in TMPDIR, which differs from user to user, while leases are for all users.
constexpr char kFolder[] = "/tmp/expc-devices";
// Bytes read of a lock's file.
constexpr size_t kMostText = 4096;

/// The content of a lock's file, without control characters: anybody may have written it, and it is shown on a
/// terminal.
std::string textOf(int fd) {
  std::string text(kMostText, '\0');
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  text.resize(std::max<ssize_t>(0, size));
  return base::printableLines(text);
}

/// The processes of "stuck PID STARTED" lines that are still there. The start time tells a process from a later one
/// with its number.
std::vector<int> stuckIn(const std::string& text) {
  std::vector<int> found;
  std::istringstream lines(text);
  for (std::string word; lines >> word;) {
    int pid = 0;
    uint64_t started = 0;
    if (word != "stuck" || !(lines >> pid >> started)) continue;
    const base::Process process = base::processOf(pid);
    if (process.runs() && process.started == started) found.push_back(pid);
  }
  return found;
}

/// Opens a lock's file; anybody may lock it, whoever made it. Existing files are opened without O_CREAT, because in a
/// sticky folder the kernel refuses O_CREAT on another user's file (fs.protected_regular). -1 and errno on an error.
int openLock(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = open(path.c_str(), kFlags);
  if (fd >= 0 || errno != ENOENT) return fd;
  const int made = open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666);
  if (made >= 0) fchmod(made, 0666);
  return made >= 0 ? made : open(path.c_str(), kFlags);
}

/// Makes the folder, writable for all with the sticky bit, as /tmp is. False and errno if it is not a folder.
bool makeFolder(const std::string& folder) {
  if (mkdir(folder.c_str(), 0777) == 0) chmod(folder.c_str(), 01777);
  struct stat state{};
  if (lstat(folder.c_str(), &state) != 0) return false;
  if (!S_ISDIR(state.st_mode)) errno = ENOTDIR;
  return S_ISDIR(state.st_mode);
}

/// The names of the slot's locks: the GPU's uuid, and "core-N" for each core.
std::vector<std::string> namesOf(const Slot& slot) {
  std::vector<std::string> names;
  if (slot.gpu) names.push_back(slot.uuid);
  for (const int core : slot.cores) names.push_back(fmt::format("core-{}", core));
  return names;
}

/// "core 3" for "core-3"; a uuid as it is.
std::string shown(const std::string& name) { return name.substr(0, 5) == "core-" ? "core " + name.substr(5) : name; }

/// The error about devices that others hold, grouped by owner.
Error taken(const std::map<std::string, std::vector<std::string>>& by_owner) {
  std::string text;
  for (const auto& [owner, devices] : by_owner)
    text += fmt::format("{}{} {} in use by {}", text.empty() ? "" : "; ", fmt::join(devices, ", "),
                        base::are(devices.size()), owner);
  return failure(
      "{}. Wait, choose other devices (--devices, or taskset for cores), or measure anyway with EXPC_DEVICE_LOCKS=none",
      text);
}

}  // namespace

std::string leaseFolder() {
  const char* named = std::getenv("EXPC_DEVICE_LOCKS");
  if (!named || !*named) return kFolder;
  return std::strcmp(named, "none") == 0 ? "" : named;
}

Expected<DeviceLeases> DeviceLeases::take(const std::vector<Slot>& slots, const std::string& folder,
                                          const std::string& owner, std::vector<std::string>& notes) {
  DeviceLeases leases;
  if (folder.empty()) return leases;
  const auto unlocked = [&](const std::string& path) {
    notes.push_back(fmt::format("cannot reserve devices, so another run may use them at the same time: {}: {}", path,
                                std::strerror(errno)));
    return DeviceLeases();
  };
  if (!makeFolder(folder)) return unlocked(folder);
  // Sorted and each once: slots may share cores.
  std::set<std::string> names;
  for (const Slot& slot : slots)
    for (std::string& name : namesOf(slot)) names.insert(std::move(name));
  std::map<std::string, std::vector<std::string>> by_owner;
  for (const std::string& name : names) {
    leases.locks_.push_back({name, Descriptor(openLock(folder + "/" + name))});
    const int fd = leases.locks_.back().fd;
    if (fd < 0) return unlocked(folder + "/" + name);
    // Nobody waits for a lock, so two runs that want each other's devices cannot deadlock.
    const bool locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    const std::string text = textOf(fd);
    const std::vector<int> stuck = stuckIn(text);
    if (!locked)
      by_owner[text.substr(0, text.find('\n'))].push_back(shown(name));
    else if (!stuck.empty())
      by_owner[fmt::format("process {}, which an earlier run killed but which is still running", stuck.front())]
          .push_back(shown(name));
  }
  if (!by_owner.empty()) return taken(by_owner);
  // Owners are written only once all locks are held, since a refused run must not leave its name.
  for (const Lock& lock : leases.locks_) {
    const std::string text = owner + "\n";
    if (ftruncate(lock.fd, 0) != 0 || pwrite(lock.fd, text.data(), text.size(), 0) < 0) return unlocked(lock.name);
  }
  return leases;
}

void DeviceLeases::block(const Slot& slot, int pid) const {
  const std::vector<std::string> names = namesOf(slot);
  for (const Lock& lock : locks_) {
    if (std::ranges::count(names, lock.name) == 0) continue;
    // Appended behind the owner's line.
    const std::string line = fmt::format("stuck {} {}\n", pid, base::processOf(pid).started);
    [[maybe_unused]] const ssize_t written = pwrite(lock.fd, line.data(), line.size(), textOf(lock.fd).size());
  }
}

void putFreeFirst(std::vector<Gpu>& gpus, const std::string& folder) {
  std::ranges::stable_partition(gpus, [&](const Gpu& gpu) {
    if (folder.empty()) return true;
    // The lock is only tried: it ends with `fd`, at the end of each look.
    const Descriptor fd(open((folder + "/" + gpu.uuid).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    return fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) == 0 && stuckIn(textOf(fd)).empty());
  });
}

}  // namespace expc::machine
