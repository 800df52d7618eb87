#include "runtime/store/files.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"

namespace expc::store {

llvm::Error cannotWrite(const std::string& folder, int error) {
  const char* way_out = error == ENOSPC || error == EDQUOT || error == EFBIG
                            ? "free some space and run the same command again; what was measured before is kept"
                            : "make it writable, or choose another folder with --results DIR";
  return base::failure("the results folder '{}' cannot be written: {}; {}", folder, std::strerror(error), way_out);
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
  constexpr uint64_t kMostOutput = 32 << 20;  // none that a worker keeps is larger
  auto output = files::read(keptOutput(from, trial), kMostOutput, files::Links::Refused);
  if (!output) return llvm::consumeError(output.takeError());
  std::error_code failed;
  const std::string target = keptOutput(to, number);
  std::filesystem::create_directories(std::filesystem::path(target).parent_path(), failed);
  llvm::consumeError(files::write(target, (*output)->getBuffer(), files::Links::Refused));
}

}  // namespace expc::store
