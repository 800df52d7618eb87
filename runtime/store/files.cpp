#include "runtime/store/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace expc::store {

llvm::Error cannotWrite(const std::string& folder, int error) {
  const char* way_out = error == ENOSPC || error == EDQUOT || error == EFBIG
                            ? "free some space and run the same command again; what was measured before is kept"
                            : "make it writable, or choose another folder with --results DIR";
  return llvm::createStringError(
      fmt::format("the results folder '{}' cannot be written: {}; {}", folder, std::strerror(error), way_out));
}

llvm::Error makeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return cannotWrite(folder, error.value());
  if (!std::filesystem::is_directory(folder, error)) return cannotWrite(folder, ENOTDIR);
  return llvm::Error::success();
}

std::string keptOutput(const std::string& results, int64_t trial) {
  return fmt::format("{}/outputs/{}", results, trial);
}

}  // namespace expc::store
