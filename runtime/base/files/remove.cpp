// Removes folders without leaving the mount that they lie in: a program may have mounted somebody's files in its
// folder. Every step uses descriptors of open folders (openat, unlinkat), so that a folder which is replaced by a
// link meanwhile cannot lead elsewhere.

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/process.h"

namespace expc::files {
namespace {

namespace fs = std::filesystem;

/// The line of /proc that names the mount in which an open file lies.
std::string mountOf(int file) {
  const std::string text = base::readText(fmt::format("/proc/self/fdinfo/{}", file)).value_or("");
  const size_t begin = text.find("mnt_id:");
  return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

/// Opens a folder inside an open one. Fails with EXDEV if something is mounted there. Comparing devices is not
/// enough: a bind mount of the same file system has the same device. Linux before 5.6, and some sandboxes, lack
/// openat2; there the mounts of both are compared.
Descriptor openWithin(int parent, const std::string& name, int access) {
  open_how how{};
  how.flags = uint64_t(access | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  how.resolve = RESOLVE_NO_XDEV;
  const long fd = syscall(SYS_openat2, parent, name.c_str(), &how, sizeof how);
  if (fd >= 0 || (errno != ENOSYS && errno != EPERM)) return Descriptor(int(fd));
  Descriptor folder(openat(parent, name.c_str(), int(how.flags)));
  if (folder < 0 || mountOf(folder) == mountOf(parent)) return folder;
  errno = EXDEV;
  return {};
}

/// One removal. It goes on after a failure and remembers the first thing that stays.
class Removal {
 public:
  /// Empties an open folder.
  void clear(const Descriptor folder, const fs::path& path) {
    struct stat state{};
    // A folder that its maker closed cannot be listed or emptied.
    if (fstat(folder, &state) == 0 && (state.st_mode & S_IRWXU) != S_IRWXU) fchmod(folder, S_IRWXU);
    std::vector<std::string> names;
    // Names are read before anything is removed: changing a folder while listing it may skip entries.
    {
      const std::unique_ptr<DIR, int (*)(DIR*)> list(fdopendir(dup(folder)), closedir);
      while (const dirent* entry = list ? readdir(list.get()) : nullptr) names.emplace_back(entry->d_name);
    }
    for (const std::string& name : names)
      if (name != "." && name != "..") remove(folder, name, path / name);
  }

  /// Removes an entry of an open folder, with everything in it.
  void remove(int parent, const std::string& name, const fs::path& path) {
    if (unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return;
    // unlinkat says EISDIR for a folder on Linux, EPERM elsewhere.
    if (errno != EISDIR && errno != EPERM) return stay(path);
    Descriptor folder = openWithin(parent, name, O_RDONLY);
    if (folder < 0 && errno == EACCES) {  // its maker took all permissions away
      const Descriptor closed = openWithin(parent, name, O_PATH);
      if (closed >= 0) chmod(fmt::format("/proc/self/fd/{}", int(closed)).c_str(), S_IRWXU);
      folder = openWithin(parent, name, O_RDONLY);
    }
    if (folder < 0) return errno == ENOENT ? void() : stay(path);
    clear(std::move(folder), path);
    if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) stay(path);
  }

  /// Notes what stays, by errno.
  void stay(const fs::path& path) {
    if (stays_.empty())
      stays_ = fmt::format(
          "{}: {}", path.string(),
          errno == EXDEV ? "another file system is mounted there, which stays as it is" : std::strerror(errno));
  }
  const std::string& stays() const { return stays_; }

 private:
  std::string stays_;
};

/// Calls `act` with the open folder in which `path` lies. Returns what stays.
std::string within(const std::string& path, auto act) {
  fs::path whole(path);
  if (!whole.has_filename()) whole = whole.parent_path();  // "folder/"
  const fs::path above = whole.parent_path();
  const Descriptor parent(open(above.empty() ? "." : above.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Removal removal;
  // If the folder above is missing, nothing has to be removed.
  if (parent >= 0)
    act(removal, parent, whole);
  else if (errno != ENOENT && errno != ENOTDIR)
    removal.stay(whole);
  return removal.stays();
}

}  // namespace

std::string removeTree(const std::string& path) {
  return within(path, [](Removal& removal, int parent, const fs::path& whole) {
    removal.remove(parent, whole.filename().string(), whole);
  });
}

std::string clearFolder(const std::string& path) {
  return within(path, [](Removal& removal, int parent, const fs::path& whole) {
    Descriptor folder = openWithin(parent, whole.filename().string(), O_RDONLY);
    if (folder < 0) return removal.stay(whole);
    removal.clear(std::move(folder), whole);
  });
}

}  // namespace expc::files
