#include "compiler/driver/replacement.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <map>
#include <string>
#include <system_error>

#include "runtime/files/files.h"

namespace expc::driver {

llvm::Error replaceFiles(const std::map<std::string, std::string>& texts) {
  std::map<std::string, llvm::SmallString<256>> targets;  // by name; a link's is what it leads to
  for (const auto& [name, text] : texts) {
    llvm::SmallString<256>& target = targets[name];
    std::error_code code = llvm::sys::fs::real_path(name, target);
    if (!code) code = llvm::sys::fs::access(target, llvm::sys::fs::AccessMode::Write);
    if (code) return llvm::createStringError(code, fmt::format("cannot write {}: {}", name, code.message()));
  }
  for (const auto& [name, text] : texts)
    if (const std::error_code code = llvm::errorToErrorCode(files::write(targets[name].str().str(), text)))
      return llvm::createStringError(code, fmt::format("cannot write {}: {}", name, code.message()));
  return llvm::Error::success();
}

}  // namespace expc::driver
