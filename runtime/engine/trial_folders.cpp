#include "runtime/engine/trial_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/files/files.h"
#include "runtime/plan/command.h"

namespace expc::engine {
namespace {

/// Whether the next trial may write over an entry of a folder: an output of ours, and no link to somebody's file.
bool isReusable(int folder, const char* name) {
  static const std::string log = std::string(kCommandLog) + ".0.log";
  const std::string_view text = name;
  if (text != plan::kOutput && text != plan::kErrors && text != log) return false;
  struct stat state{};
  return fstatat(folder, name, &state, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(state.st_mode) && state.st_nlink == 1 &&
         (state.st_mode & S_IRWXU) == (S_IRUSR | S_IWUSR);
}

/// Its program may have changed that.
bool isOpenToUs(int folder) {
  struct stat state{};
  return fstat(folder, &state) == 0 && (state.st_mode & S_IRWXU) == S_IRWXU;
}

/// Removes all but what can be used again; false where something stays.
bool clear(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(fd), closedir);
  if (!folder || !isOpenToUs(fd)) return false;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || isReusable(fd, entry->d_name)) continue;
    if (!files::removeTree(path + "/" + entry->d_name)) return false;
  }
  return true;
}

}  // namespace

TrialFolders::~TrialFolders() { files::removeTree(spare_); }

llvm::Error TrialFolders::make(const std::string& folder, const CommandFiles& files) {
  if (has_spare_ && access(folder.c_str(), F_OK) != 0 && std::rename(spare_.c_str(), folder.c_str()) == 0) {
    has_spare_ = false;
    return fillTrialFolder(folder, files);
  }
  return makeTrialFolder(folder, files);
}

void TrialFolders::drop(const std::string& folder) {
  if (!has_spare_ && clear(folder) && std::rename(folder.c_str(), spare_.c_str()) == 0) {
    has_spare_ = true;
    return;
  }
  files::removeTree(folder);
}

}  // namespace expc::engine
