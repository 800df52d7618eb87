#include "runtime/store/files.h"

#include <fmt/format.h>

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

void copyOutput(const std::string& from, int64_t trial, const std::string& to, int64_t number) {
  namespace fs = std::filesystem;
  const fs::path source = keptOutput(from, trial), target = keptOutput(to, number);
  std::error_code failed;
  if (fs::symlink_status(source, failed).type() != fs::file_type::regular) return;
  fs::create_directories(target.parent_path(), failed);
  fs::copy_file(source, target, fs::copy_options::overwrite_existing, failed);
}

}  // namespace expc::store
