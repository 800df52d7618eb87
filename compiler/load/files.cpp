#include "compiler/load/files.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

#include <string>
#include <system_error>

#include "runtime/files/files.h"

namespace expc::load {

FileSystem FileSystem::real() {
  return {[](const std::string& path) -> llvm::Expected<std::string> {
    auto buffer = files::read(path, files::kMostByHand);
    if (buffer) return std::string((*buffer)->getBuffer());
    std::error_code code;
    std::string why;
    llvm::handleAllErrors(buffer.takeError(), [&](const llvm::ErrorInfoBase& error) {
      code = error.convertToErrorCode();
      why = error.message();
    });
    if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);  // whoever asks names the file
    return llvm::createStringError(code, why);
  }};
}

std::string relativeTo(std::string_view directory, std::string_view path) {
  llvm::SmallString<128> result;
  if (!llvm::sys::path::is_absolute(llvm::StringRef(path))) result = llvm::StringRef(directory);
  llvm::sys::path::append(result, llvm::StringRef(path));
  // `..` is kept where it leaves a folder that might be a link.
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/false);
  return std::string(result.str());
}

}  // namespace expc::load
