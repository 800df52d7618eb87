// Implements the lease without trusting locks or clocks. Taking it: write a file of our own and link(2) it to the
// name; whoever links first has it. Taking over: only from a holder that is provably gone, or whose heartbeat is
// old and stands still while we watch. Being fenced: the holder compares the inode before each write and the token
// every second.

#include "runtime/store/lease.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <thread>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/results_folder.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/base/process.h"

namespace expc::store {
namespace {

/// A lock that does not come within this many seconds may belong to a file server that lost its state: go on without
/// it.
constexpr double kLockPatience = 2;
/// A lease is a few hundred bytes; a larger file is not one.
constexpr size_t kLargest = 1 << 16;
/// Least seconds between two reads of the file's content; the inode is compared each time, which costs much less.
constexpr double kBeatSeconds = 1;

// Types (statfs(2)) of file systems whose disk belongs to one machine: ext2 to ext4, xfs, btrfs, tmpfs, overlay,
// zfs, f2fs, bcachefs. All others may be shared.
constexpr uint32_t kOfOneMachine[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994,
                                      0x794c7630, 0x2fc12fc1, 0xf2f52010, 0xca451a4e};
/// Longer texts in a foreign lease are cut before they are printed.
constexpr size_t kLongestText = 200;

constexpr std::pair<llvm::StringLiteral, std::string LeaseHolder::*> kTexts[] = {
    {"host", &LeaseHolder::host},
    {"boot_id", &LeaseHolder::boot_id},
    {"machine_id", &LeaseHolder::machine_id},
    {"pid_namespace", &LeaseHolder::pid_namespace},
    {"purpose", &LeaseHolder::purpose},
    {"token", &LeaseHolder::token}};

/// Whether only this machine can write to the folder.
bool isOfOneMachine(const std::string& folder) {
  struct statfs system{};
  return statfs(folder.c_str(), &system) == 0 && is_contained(kOfOneMachine, uint32_t(system.f_type));
}

/// Whether the holder's process runs. A zombie counts as gone; a reused pid has another start time.
bool isRunning(const LeaseHolder& holder) {
  const base::Process process = base::processOf(holder.pid);
  return process.runs() && process.started == holder.start_ticks;
}

using base::bootSeconds;

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

/// A lease file as it was found.
struct Found {
  LeaseHolder holder;
  std::string text;
  double heartbeat = 0;  // the file's time, by its server's clock
  bool operator==(const Found& other) const { return text == other.text && heartbeat == other.heartbeat; }
};

/// The lease that is there. The file is opened, because a network file system may show the cached time of a file
/// otherwise. Something that is not a regular file (a link, a pipe) counts as an unreadable lease.
std::optional<Found> find(const std::string& path) {
  const Descriptor fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  Found found;
  struct stat state{};
  if (fd < 0) return lstat(path.c_str(), &state) == 0 ? std::optional(found) : std::nullopt;
  // The content is read after the time: a lease that changes in between looks changed at the next look.
  if (fstat(fd, &state) == 0 && S_ISREG(state.st_mode)) {
    found.heartbeat = base::secondsOf(state.st_mtim);
    found.text.resize(kLargest);
    const ssize_t size = read(fd, found.text.data(), found.text.size());
    found.text.resize(size > 0 ? size_t(size) : 0);
    found.holder = LeaseHolder::fromText(found.text);
  }
  return found;
}

/// Whether the heartbeat is far from `now`, in either direction: a clock that was set back counts too.
bool isSilent(double heartbeat, double now, const LeasePatience& patience) {
  return std::abs(now - heartbeat) > patience.stale_seconds;
}

/// Watches the lease; true if nothing about it changes.
bool staysSilent(const std::string& path, const Found& found, const LeasePatience& patience) {
  for (const double end = bootSeconds() + patience.watch_seconds; bootSeconds() < end; nap())
    if (find(path) != found) return false;
  return true;
}

/// Keeps two takers on one host apart. Across hosts flock may do nothing; there removeStale's check of the text
/// after the rename must suffice.
Descriptor lockFolder(const std::string& folder) {
  Descriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const double end = bootSeconds() + kLockPatience;
  while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && bootSeconds() < end) nap();
  return fd;
}

/// Moves a stale lease out of the way. Returns false if the moved file is not the one that was judged, and then
/// puts it back: another process took over in between.
bool removeStale(const std::string& path, const std::string& judged) {
  // A name of our own: two takers must not move their finds onto each other.
  const std::string aside = fmt::format("{}.stale.{}", path, LeaseHolder::self("").token);
  if (rename(path.c_str(), aside.c_str()) != 0) return false;
  const auto moved = find(aside);
  const bool same = moved && moved->text == judged;
  if (!same) {
    [[maybe_unused]] const int back = link(aside.c_str(), path.c_str());
  }
  unlink(aside.c_str());
  return same;
}

/// Tries to make the lease. Returns its descriptor, or an invalid one if the lease exists. `now` gets the time of
/// the file server, from the file's own time stamp.
Expected<Descriptor> create(const std::string& folder, const std::string& path, const std::string& text, double& now) {
  // Written under a name of our own first, so that nobody ever reads half a lease.
  const std::string temporary = fmt::format("{}.new.{}", path, LeaseHolder::self("").token);
  Descriptor fd(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (fd < 0) return files::cannotWrite(folder, errno);
  struct stat state{};
  int error = 0;
  // The time stamp is taken after writing, so that it is the file server's current time.
  if (::write(fd, text.data(), text.size()) != ssize_t(text.size()))
    error = errno ? errno : ENOSPC;
  else if (futimens(fd, nullptr) != 0 || fstat(fd, &state) != 0)
    error = errno;
  now = base::secondsOf(state.st_mtim);
  if (!error && link(temporary.c_str(), path.c_str()) != 0) error = errno;
  unlink(temporary.c_str());
  if (!error) return fd;
  if (error == EEXIST) return Descriptor();
  return files::cannotWrite(folder, error);
}

/// The error about a folder that another process uses.
Error inUse(const std::string& folder, const LeaseHolder& holder) {
  return failure(
      "the results folder '{}' is in use by {} (expc {}): wait, stop it, or choose another folder with --results DIR",
      folder, holder.name(), holder.purpose);
}

}  // namespace

LeaseHolder LeaseHolder::self(std::string_view purpose) {
  LeaseHolder holder;
  char name[256] = {};
  holder.host = base::hostName();
  holder.boot_id = base::bootId();
  std::ifstream("/etc/machine-id") >> holder.machine_id;
  // The namespace tells containers of one host apart, whose pids mean different processes.
  const ssize_t size = readlink("/proc/self/ns/pid", name, sizeof name - 1);
  holder.pid_namespace = std::string(name, size > 0 ? size : 0);
  holder.pid = getpid();
  holder.start_ticks = base::processOf(holder.pid).started;
  holder.purpose = purpose;
  std::random_device random;
  holder.token = fmt::format("{:08x}{:08x}", random(), random());
  return holder;
}

LeaseHolder LeaseHolder::fromText(std::string_view text) {
  LeaseHolder holder;
  const auto value = expectedToOptional(parseJson(text));
  const json::Object* object = value ? value->getAsObject() : nullptr;
  if (!object) return holder;
  for (const auto& [name, member] : kTexts)
    holder.*member = base::printable(object->getString(name).value_or("").take_front(kLongestText));
  holder.pid = object->getInteger("pid").value_or(0);
  holder.start_ticks = object->getInteger("start_ticks").value_or(0);
  return holder;
}

std::string LeaseHolder::toText() const {
  json::Object object{{"pid", pid}, {"start_ticks", int64_t(start_ticks)}};
  for (const auto& [name, member] : kTexts) object[name] = jsonText(this->*member);
  return canonicalJson(std::move(object)) + "\n";
}

std::string LeaseHolder::name() const {
  if (pid <= 0) return "an unknown process (the lock file is damaged)";
  return fmt::format("process {} on host {}", pid, host);
}

Sign signOf(const LeaseHolder& holder, const std::string& folder) {
  const LeaseHolder self = LeaseHolder::self("");
  // A damaged lease names nobody, so nothing is known about its holder.
  if (holder.pid <= 0 || holder.host != self.host || holder.pid_namespace != self.pid_namespace) return Sign::Elsewhere;
  if (holder.boot_id == self.boot_id) return isRunning(holder) ? Sign::Lives : Sign::Gone;
  return holder.machine_id == self.machine_id && isOfOneMachine(folder) ? Sign::Gone : Sign::Elsewhere;
}

Expected<Lease> Lease::acquire(const std::string& folder, std::string_view purpose, std::vector<std::string>& messages,
                               LeasePatience patience) {
  const std::string path = folder + "/" + std::string(kLeaseName), text = LeaseHolder::self(purpose).toText();
  std::optional<Found> silent;  // a lease that stood still while we watched
  while (true) {
    std::optional<Found> found;
    double now = 0;
    // Judging and removing happen under the lock; the long watching does not, so nobody waits for it.
    {
      const Descriptor lock = lockFolder(folder);
      auto made = TRY(create(folder, path, text, now));
      if (made >= 0) return Lease(path, std::move(made), text);
      found = find(path);
      if (!found) continue;
      if (found == silent || signOf(found->holder, folder) == Sign::Gone) {
        if (removeStale(path, found->text))
          messages.push_back(fmt::format("resuming '{}' after a run that ended abnormally: {} {}", folder,
                                         found->holder.name(), found == silent ? "gave no sign of life" : "is gone"));
        continue;
      }
    }
    // Only a holder elsewhere with an old heartbeat is worth waiting for; all others are in use.
    const bool watch = signOf(found->holder, folder) == Sign::Elsewhere && isSilent(found->heartbeat, now, patience);
    if (!watch || !staysSilent(path, *found, patience)) return inUse(folder, found->holder);
    // It stood still: the next round takes it over if it is still the same.
    silent = found;
  }
}

bool Lease::isLive(const std::string& folder) {
  const auto found = find(folder + "/" + std::string(kLeaseName));
  if (!found) return false;
  const Sign sign = signOf(found->holder, folder);
  return sign == Sign::Lives ||
         (sign == Sign::Elsewhere && !isSilent(found->heartbeat, double(std::time(nullptr)), LeasePatience()));
}

bool Lease::ours() const {
  struct stat held{}, there{};
  return fd_ >= 0 && fstat(fd_, &held) == 0 && lstat(path_.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

Error Lease::heartbeat() {
  const double now = bootSeconds();
  const bool due = beat_ < 0 || now - beat_ >= kBeatSeconds;
  // A file server that does not know that we have the file open may give its inode number to another file; the text
  // (with its token) is never the same.
  const auto there = due && ours() ? find(path_) : std::nullopt;
  if (due ? !there || there->text != text_ : !ours()) {
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    if (access(folder.c_str(), F_OK) != 0 && errno == ENOENT)
      return failure(
          "the results folder '{}' disappeared during the run. Move it back to continue; otherwise the same command "
          "starts over",
          folder);
    return failure(
        "this run lost its lock on the results folder ('{}' was removed, or another process replaced it). Run the same "
        "command once the folder is free",
        path_);
  }
  if (due) {
    futimens(fd_, nullptr);
    beat_ = now;
  }
  return Error::success();
}

void Lease::release() {
  if (fd_ < 0) return;
  // Another process's lease must stay.
  if (const auto there = ours() ? find(path_) : std::nullopt; there && there->text == text_) unlink(path_.c_str());
  fd_.close();
}

}  // namespace expc::store
