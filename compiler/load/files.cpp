#include "compiler/load/files.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

namespace expc::load {

FileSystem FileSystem::real() {
  return {[](const std::string& path) -> llvm::Expected<std::string> {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer) return llvm::errorCodeToError(buffer.getError());
    return std::string((*buffer)->getBuffer());
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
