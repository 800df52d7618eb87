// Trial folders: made, filled with inputs, recycled and removed. Links are hard if possible, so programs that refuse
// symbolic links work.

#include "runtime/engine/inputs/trial_folders.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/command.h"

namespace expc::engine::inputs {
namespace {

namespace fs = std::filesystem;

/// Whether the folder is a real folder that we may read and write; its program may have changed that.
bool isOpenToUs(const std::string& folder) {
  struct stat state{};
  return lstat(folder.c_str(), &state) == 0 && S_ISDIR(state.st_mode) && (state.st_mode & S_IRWXU) == S_IRWXU;
}

/// Makes one input in a trial's folder: a copy, a hard link, or a symbolic link where a hard one fails (another file
/// system, another owner). Hard links are preferred because compressors and others refuse symbolic ones.
void addLink(const InputFile& input, const fs::path& link, std::error_code& failed) {
  const fs::path target = fs::canonical(input.path, failed);
  if (failed) return;
  if (input.copy) {
    if (fs::copy_file(target, link, failed)) fs::last_write_time(link, fs::last_write_time(target, failed), failed);
    return;
  }
  if (input.hard) {
    fs::create_hard_link(target, link, failed);
    if (!failed) return;
    failed.clear();
  }
  fs::create_symlink(target, link, failed);
}

Error failedToMake(const std::string& folder, const std::string& why) {
  return failure("cannot make the trial's folder '{}': {}. Results so far are kept", folder, why);
}

/// Fills an existing folder that has no inputs yet.
Error fill(const std::string& folder, const CommandFiles& files) {
  std::error_code failed;
  std::string last;
  for (const InputFile& input : files.inputs) {
    if (failed || input.name.empty()) continue;
    const fs::path link = fs::path(folder) / input.name;
    // Inputs are sorted by path, so most follow one of the same folder.
    if (link.parent_path() != last) {
      last = link.parent_path();
      fs::create_directories(last, failed);
    }
    if (!failed) addLink(input, link, failed);
  }
  return failed ? failedToMake(folder, failed.message()) : Error::success();
}

}  // namespace

Error makeTrialFolder(const std::string& folder, const CommandFiles& inputs) {
  // An old folder with this number may be left from a store that was moved or cut.
  if (const std::string stays = files::removeTree(folder); !stays.empty()) return failedToMake(folder, stays);
  std::error_code failed;
  fs::create_directories(folder, failed);
  return failed ? failedToMake(folder, failed.message()) : fill(folder, inputs);
}

int noRoomBeside(const std::string& folder) {
  // More than a page, since some file systems reserve the last blocks.
  constexpr size_t kSome = 64 << 10;
  const std::string outputs = plan::outputsOf(folder), path = outputs + "/room";
  // Only where space is scarce: writing after each trial would make trials of a short program a sixth longer.
  if (struct statvfs disk{}; statvfs(outputs.c_str(), &disk) == 0 && disk.f_bavail * disk.f_frsize > 16 * kSome)
    return 0;
  const int fd = files::openLog(path);
  int code = fd < 0 ? errno : files::writeAll(fd, std::string(kSome, '\0'));
  if (fd >= 0 && close(fd) != 0 && code == 0) code = errno;  // NFS reports an exceeded quota on close
  unlink(path.c_str());
  return code == ENOSPC || code == EDQUOT ? code : 0;
}

void leaveInputs(const std::string& folder, const CommandFiles& files) {
  for (const InputFile& input : files.inputs) {
    const fs::path link = fs::path(folder) / input.name;
    std::error_code failed;
    if (input.name.empty() || input.copy || fs::is_symlink(link, failed) || failed) continue;
    if (!fs::equivalent(link, input.path, failed) || failed) continue;  // the program put another file there
    const fs::path target = fs::canonical(input.path, failed);
    if (failed || !fs::remove(link, failed) || failed) continue;
    fs::create_symlink(target, link, failed);
  }
}

Error TrialFolders::make(const std::string& folder, const CommandFiles& files) {
  const std::string outputs = plan::outputsOf(folder);
  // The spare folder is renamed. If its outputs cannot be, or `folder` exists from an earlier engine, all is made anew.
  const bool vacant = folder == spare_ || access(folder.c_str(), F_OK) != 0;
  if (!spare_.empty() && vacant && std::rename(spare_.c_str(), folder.c_str()) == 0) {
    const std::string spare_outputs = plan::outputsOf(std::exchange(spare_, ""));
    if (std::rename(spare_outputs.c_str(), outputs.c_str()) == 0) return fill(folder, files);
  }
  TRY(makeTrialFolder(outputs, {}));
  return makeTrialFolder(folder, files);
}

std::string TrialFolders::drop(const std::string& folder) {
  // One spare is enough for a lane; the folders of other lanes are removed.
  if (!spare_.empty() || !isOpenToUs(folder) || !files::clearFolder(folder).empty()) return remove(folder);
  spare_ = folder;
  return "";
}

void TrialFolders::keep(const std::string& folder) {
  const std::string outputs = plan::outputsOf(folder);
  std::error_code failed;
  for (fs::directory_iterator at(outputs, failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = folder + "/" + at->path().filename().string();
    if (link(at->path().c_str(), name.c_str()) == 0) unlink(at->path().c_str());
  }
  rmdir(outputs.c_str());  // fails if a file stays, which is intended
}

std::string TrialFolders::remove(const std::string& folder) {
  const std::string stays = files::removeTree(folder), beside = files::removeTree(plan::outputsOf(folder));
  return stays.empty() ? beside : stays;
}

}  // namespace expc::engine::inputs
