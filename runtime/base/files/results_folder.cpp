#include "runtime/base/files/results_folder.h"

#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/base/failure.h"

namespace expc::files {

Error cannotWrite(const std::string& folder, int error) {
  const char* way_out = error == ENOSPC || error == EDQUOT || error == EFBIG
                            ? "results so far are kept. Free space and run the same command again"
                            : "make it writable, or choose another folder with --results DIR";
  return failure("cannot write to the results folder '{}': {}; {}", folder, std::strerror(error), way_out);
}

Error makeFolder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::is_symlink(folder, error) && !std::filesystem::exists(folder, error))
    return failure(
        "the results folder '{}' is a link to '{}', which does not exist: mount or create that folder, or choose "
        "another with --results DIR",
        folder, std::filesystem::read_symlink(folder, error).string());
  std::filesystem::create_directories(folder, error);
  if (error) return cannotWrite(folder, error.value());
  if (!std::filesystem::is_directory(folder, error)) return cannotWrite(folder, ENOTDIR);
  return Error::success();
}

}  // namespace expc::files
