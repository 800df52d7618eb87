#include "runtime/store/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <thread>
#include <utility>

#include "runtime/store/files.h"

namespace expc::store {
namespace {

// A lock that does not come may be one of a file server that lost its state.
constexpr double kLockPatience = 2;
// A lease is a few hundred bytes; what is larger is none.
constexpr size_t kLargest = 1 << 16;
// What stands in the file is read this often at most; whose inode it is, each time.
constexpr double kBeatSeconds = 1;

double bootSeconds() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

double seconds(const timespec& time) { return double(time.tv_sec) + 1e-9 * double(time.tv_nsec); }

void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

struct Found {
  LeaseHolder holder;
  std::string text;
  double heartbeat = 0;  // the file's time, by its server's clock
  bool operator==(const Found& other) const { return text == other.text && heartbeat == other.heartbeat; }
};

/// The lease that is there. It is opened, since a network file system may show the time of a file that it has not asked
/// for lately. What is no file (a link, a pipe) is a lease that cannot be read.
std::optional<Found> find(const std::string& path) {
  const base::Descriptor fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (fd < 0 && errno == ENOENT) return std::nullopt;
  Found found;
  struct stat state{};
  if (fd < 0) return lstat(path.c_str(), &state) == 0 ? std::optional(found) : std::nullopt;
  if (fstat(fd, &state) == 0 && S_ISREG(state.st_mode)) {
    found.heartbeat = seconds(state.st_mtim);
    found.text.resize(kLargest);
    const ssize_t size = read(fd, found.text.data(), found.text.size());
    found.text.resize(size > 0 ? size_t(size) : 0);
    found.holder = LeaseHolder::fromText(found.text);
  }
  return found;
}

bool isSilent(double heartbeat, double now, const LeasePatience& patience) {
  return std::abs(now - heartbeat) > patience.stale_seconds;
}

/// Does nothing move while we look?
bool staysSilent(const std::string& path, const Found& found, const LeasePatience& patience) {
  for (const double end = bootSeconds() + patience.watch_seconds; bootSeconds() < end; nap())
    if (find(path) != found) return false;
  return true;
}

/// Best effort against two takers on one host; across hosts the check of the text after the rename has to do.
base::Descriptor lockFolder(const std::string& folder) {
  base::Descriptor fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const double end = bootSeconds() + kLockPatience;
  while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && bootSeconds() < end) nap();
  return fd;
}

/// Moves a lease judged stale out of the way. False if it was not the one judged.
bool removeStale(const std::string& path, const std::string& judged) {
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

/// What came of an attempt to make the file: its descriptor, or none where somebody has it, and what time it is where
/// it lies.
struct Made {
  base::Descriptor fd;
  double now = 0;
};

llvm::Expected<Made> create(const std::string& folder, const std::string& path, const std::string& text) {
  Made made;
  const std::string temporary = fmt::format("{}.new.{}", path, LeaseHolder::self("").token);
  made.fd = base::Descriptor(open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (made.fd < 0) return cannotWrite(folder, errno);
  struct stat state{};
  int error = 0;
  if (::write(made.fd, text.data(), text.size()) != ssize_t(text.size()))
    error = errno ? errno : ENOSPC;
  else if (futimens(made.fd, nullptr) != 0 || fstat(made.fd, &state) != 0)
    error = errno;
  made.now = seconds(state.st_mtim);
  if (!error && link(temporary.c_str(), path.c_str()) != 0) error = errno;
  unlink(temporary.c_str());
  if (!error) return made;
  made.fd.close();
  if (error == EEXIST) return made;
  return cannotWrite(folder, error);
}

llvm::Error inUse(const std::string& folder, const LeaseHolder& holder) {
  return llvm::createStringError(fmt::format(
      "the results folder '{}' is in use by {} (expc {}): wait for it, stop it, or choose another folder with "
      "--results DIR",
      folder, holder.name(), holder.purpose));
}

}  // namespace

llvm::Expected<Lease> Lease::acquire(const std::string& folder, std::string_view purpose,
                                     std::vector<std::string>& messages, LeasePatience patience) {
  const std::string path = folder + "/" + std::string(kLeaseName), text = LeaseHolder::self(purpose).toText();
  std::optional<Found> silent;  // one that did not move while we looked
  while (true) {
    std::optional<Found> found;
    double now = 0;
    {
      const base::Descriptor lock = lockFolder(folder);
      auto made = create(folder, path, text);
      if (!made) return made.takeError();
      if (made->fd >= 0) return Lease(path, std::move(made->fd), text);
      now = made->now;
      found = find(path);
      if (!found) continue;
      if (found == silent || signOf(found->holder, folder) == Sign::Gone) {
        if (removeStale(path, found->text))
          messages.push_back(fmt::format("took over the results folder '{}' from {}, which {}", folder,
                                         found->holder.name(), found == silent ? "gave no sign of life" : "is gone"));
        continue;
      }
    }
    const bool watch = signOf(found->holder, folder) == Sign::Elsewhere && isSilent(found->heartbeat, now, patience);
    if (!watch || !staysSilent(path, *found, patience)) return inUse(folder, found->holder);
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

Lease& Lease::operator=(Lease&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(text_, other.text_);
  std::swap(fd_, other.fd_);
  std::swap(beat_, other.beat_);
  return *this;
}

bool Lease::ours() const {
  struct stat held{}, there{};
  return fd_ >= 0 && fstat(fd_, &held) == 0 && lstat(path_.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

llvm::Error Lease::heartbeat() {
  const double now = bootSeconds();
  const bool due = beat_ < 0 || now - beat_ >= kBeatSeconds;
  // The number of an inode may be used again where its server does not know that we have it open; the text never is.
  const auto there = due && ours() ? find(path_) : std::nullopt;
  if (due ? !there || there->text != text_ : !ours()) {
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    if (access(folder.c_str(), F_OK) != 0 && errno == ENOENT)
      return llvm::createStringError(
          fmt::format("the results folder '{}' was removed or moved while this run wrote to it: move it back and the "
                      "same command continues; without it the command begins anew",
                      folder));
    return llvm::createStringError(fmt::format(
        "'{}' is not ours any more: another process took the results folder over, or somebody removed the file; "
        "the same command continues once the folder is free",
        path_));
  }
  if (due) {
    futimens(fd_, nullptr);
    beat_ = now;
  }
  return llvm::Error::success();
}

void Lease::release() {
  if (fd_ < 0) return;
  if (const auto there = ours() ? find(path_) : std::nullopt; there && there->text == text_) unlink(path_.c_str());
  fd_.close();
}

}  // namespace expc::store
