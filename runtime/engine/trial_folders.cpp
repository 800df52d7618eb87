#include "runtime/engine/trial_folders.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "runtime/files/files.h"
#include "runtime/plan/command.h"

namespace expc::engine {
namespace {

/// Its program may have changed that.
bool isOpenToUs(int folder) {
  struct stat state{};
  return fstat(folder, &state) == 0 && (state.st_mode & S_IRWXU) == S_IRWXU;
}

/// Removes all that is in a folder; false where something stays.
bool clear(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(fdopendir(fd), closedir);
  if (!folder || !isOpenToUs(fd)) return false;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (!files::removeTree(path + "/" + entry->d_name)) return false;
  }
  return true;
}

}  // namespace

llvm::Error TrialFolders::make(const std::string& folder, const CommandFiles& files) {
  const std::string outputs = plan::outputsOf(folder);
  if (has_spare_ && access(folder.c_str(), F_OK) != 0 && std::rename(spare_.c_str(), folder.c_str()) == 0) {
    has_spare_ = false;
    if (std::rename(plan::outputsOf(spare_).c_str(), outputs.c_str()) == 0) return fillTrialFolder(folder, files);
  }
  if (auto error = makeTrialFolder(outputs, {})) return error;
  return makeTrialFolder(folder, files);
}

void TrialFolders::drop(const std::string& folder) {
  if (!has_spare_ && clear(folder) && std::rename(folder.c_str(), spare_.c_str()) == 0) {
    has_spare_ = std::rename(plan::outputsOf(folder).c_str(), plan::outputsOf(spare_).c_str()) == 0;
    if (has_spare_) return;
    remove(spare_);
  }
  remove(folder);
}

void TrialFolders::keep(const std::string& folder) {
  const std::string outputs = plan::outputsOf(folder);
  std::error_code failed;
  for (std::filesystem::directory_iterator at(outputs, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = folder + "/" + at->path().filename().string();
    if (link(at->path().c_str(), name.c_str()) == 0) unlink(at->path().c_str());
  }
  rmdir(outputs.c_str());  // where all have gone
}

void TrialFolders::remove(const std::string& folder) {
  files::removeTree(folder);
  files::removeTree(plan::outputsOf(folder));
}

}  // namespace expc::engine
