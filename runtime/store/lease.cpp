#include "runtime/store/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"
#include "runtime/store/files.h"

namespace expc::store {
namespace {

// A reader holds the lease while it copies the database: longer than this, something is wrong with it.
constexpr auto kReaderPatience = std::chrono::seconds(10);

/// Field 22 of /proc/PID/stat; the name in field 2 may hold anything, so count from its closing bracket. 0: no such
/// process.
uint64_t startTicks(int64_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  size_t at = text.rfind(')');
  if (at == std::string::npos) return 0;
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at, nullptr, 10);
}

/// A zombie holds nothing any more.
bool isRunning(int64_t pid) {
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string text((std::istreambuf_iterator<char>(in)), {});
  size_t at = text.rfind(')');
  return at != std::string::npos && at + 2 < text.size() && text[at + 2] != 'Z' && text[at + 2] != 'X';
}

std::string toText(const LeaseHolder& holder) {
  return plan::canonicalJson(llvm::json::Object{{"host", plan::jsonText(holder.host)},
                                                {"boot_id", holder.boot_id},
                                                {"pid_namespace", holder.pid_namespace},
                                                {"pid", holder.pid},
                                                {"start_ticks", int64_t(holder.start_ticks)},
                                                {"purpose", holder.purpose}}) +
         "\n";
}

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string((std::istreambuf_iterator<char>(in)), {});
}

/// What `text` says; a file that is cut or damaged has a holder without a name, who lives as long as the file is fresh.
LeaseHolder parseHolder(const std::string& text) {
  LeaseHolder holder;
  auto value = plan::parseJson(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return holder;
  }
  if (const llvm::json::Object* object = value->getAsObject()) {
    holder.host = object->getString("host").value_or("").str();
    holder.boot_id = object->getString("boot_id").value_or("").str();
    holder.pid_namespace = object->getString("pid_namespace").value_or("").str();
    holder.purpose = object->getString("purpose").value_or("").str();
    holder.pid = object->getInteger("pid").value_or(0);
    holder.start_ticks = uint64_t(object->getInteger("start_ticks").value_or(0));
  }
  return holder;
}

struct Found {
  LeaseHolder holder;
  std::string text;
};

std::optional<Found> find(const std::string& path) {
  struct stat state{};
  if (stat(path.c_str(), &state) != 0) return std::nullopt;
  Found found;
  found.text = readFile(path);
  found.holder = parseHolder(found.text);
  found.holder.heartbeat = double(state.st_mtim.tv_sec) + 1e-9 * double(state.st_mtim.tv_nsec);
  return found;
}

bool isAlive(const LeaseHolder& holder) {
  LeaseHolder self = LeaseHolder::self("");
  if (holder.host == self.host && holder.pid_namespace == self.pid_namespace && holder.pid > 0) {
    if (holder.boot_id != self.boot_id) return false;
    return isRunning(holder.pid) && startTicks(holder.pid) == holder.start_ticks;
  }
  return double(std::time(nullptr)) - holder.heartbeat < kLeaseStaleSeconds;
}

std::string nameOf(const LeaseHolder& holder) {
  if (holder.pid <= 0) return "an unknown process (the lease file is damaged)";
  return fmt::format("process {} on host {}", holder.pid, holder.host);
}

/// Best effort against two takers on one host; across hosts the check of the text after the rename has to do.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_;
};

/// Moves a lease judged stale out of the way. False if it was not the one judged.
bool removeStale(const std::string& path, const std::string& judged) {
  std::string aside = fmt::format("{}.stale.{}", path, getpid());
  if (rename(path.c_str(), aside.c_str()) != 0) return false;
  bool same = readFile(aside) == judged;
  if (!same) {
    [[maybe_unused]] int back = link(aside.c_str(), path.c_str());
  }
  unlink(aside.c_str());
  return same;
}

/// The new lease's descriptor; -1 and errno EEXIST when somebody has it.
llvm::Expected<int> create(const std::string& folder, const std::string& path, std::string_view purpose) {
  std::string temporary = fmt::format("{}.new.{}", path, getpid());
  int fd = open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return cannotWrite(folder, errno);
  std::string text = toText(LeaseHolder::self(purpose));
  int error = 0;
  if (write(fd, text.data(), text.size()) != ssize_t(text.size())) error = errno ? errno : ENOSPC;
  if (!error && link(temporary.c_str(), path.c_str()) != 0) error = errno;
  unlink(temporary.c_str());
  if (!error) return fd;
  close(fd);
  if (error == EEXIST) return -1;
  return cannotWrite(folder, error);
}

}  // namespace

LeaseHolder LeaseHolder::self(std::string_view purpose) {
  LeaseHolder holder;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  holder.host = name;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> holder.boot_id;
  ssize_t size = readlink("/proc/self/ns/pid", name, sizeof name - 1);
  holder.pid_namespace = std::string(name, size > 0 ? size : 0);
  holder.pid = getpid();
  holder.start_ticks = startTicks(holder.pid);
  holder.purpose = purpose;
  return holder;
}

llvm::Expected<Lease> Lease::acquire(const std::string& folder, std::string_view purpose,
                                     std::vector<std::string>& messages) {
  std::string path = folder + "/" + std::string(kLeaseName);
  auto give_up = std::chrono::steady_clock::now() + kReaderPatience;
  while (true) {
    std::optional<Found> found;
    {
      FolderLock lock(folder);
      auto fd = create(folder, path, purpose);
      if (!fd) return fd.takeError();
      if (*fd >= 0) return Lease(path, *fd);
      found = find(path);
      if (found && !isAlive(found->holder)) {
        if (removeStale(path, found->text) && found->holder.purpose != "report") {
          messages.push_back(
              fmt::format("took over the results folder '{}' from {}, which is gone", folder, nameOf(found->holder)));
        }
        continue;
      }
    }
    if (found && (found->holder.purpose != "report" || std::chrono::steady_clock::now() > give_up)) {
      return llvm::createStringError(fmt::format(
          "the results folder '{}' is in use by {} (expc {}): wait for it, stop it, or choose another folder with "
          "--results DIR",
          folder, nameOf(found->holder), found->holder.purpose));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

bool Lease::isLive(const std::string& folder) {
  auto found = find(folder + "/" + std::string(kLeaseName));
  return found && isAlive(found->holder);
}

Lease::Lease(Lease&& other) noexcept : path_(std::move(other.path_)), fd_(other.fd_) { other.fd_ = -1; }

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    release();
    path_ = std::move(other.path_);
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

Lease::~Lease() { release(); }

bool Lease::ours() const {
  struct stat held{}, there{};
  return fd_ >= 0 && fstat(fd_, &held) == 0 && stat(path_.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

llvm::Error Lease::heartbeat() {
  if (!ours()) {
    return llvm::createStringError(fmt::format(
        "'{}' is not ours any more: another process took the results folder over, or somebody removed the file; "
        "the same command continues once the folder is free",
        path_));
  }
  futimens(fd_, nullptr);
  return llvm::Error::success();
}

void Lease::release() {
  if (fd_ < 0) return;
  if (ours()) unlink(path_.c_str());
  close(fd_);
  fd_ = -1;
}

}  // namespace expc::store
