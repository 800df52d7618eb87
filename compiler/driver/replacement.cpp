#include "compiler/driver/replacement.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/files/files.h"

namespace expc::driver {

llvm::Error replaceFiles(const std::map<std::string, std::string>& texts) {
  std::vector<std::pair<llvm::SmallString<256>, llvm::StringRef>> targets;
  for (const auto& [name, text] : texts) {
    llvm::SmallString<256> target;
    std::error_code code = llvm::sys::fs::real_path(name, target);
    if (!code) code = llvm::sys::fs::access(target, llvm::sys::fs::AccessMode::Write);
    if (code) return llvm::createStringError(code, fmt::format("cannot write {}: {}", name, code.message()));
    targets.emplace_back(std::move(target), text);
  }
  for (const auto& [target, text] : targets)
    if (llvm::Error error = files::write(target.str().str(), text))
      return llvm::createStringError("cannot write " + llvm::toString(std::move(error)));
  return llvm::Error::success();
}

}  // namespace expc::driver
