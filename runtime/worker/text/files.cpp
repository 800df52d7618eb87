#include "runtime/worker/text/files.h"

#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>

#include <cstdint>
#include <utility>

namespace expc::text {

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(const std::string& path, uint64_t most,
                                                             const std::string& way_out) {
  const auto refuse = [&](const std::string& what) {
    return llvm::createStringError(fmt::format("{}: {}; {}", path, what, way_out));
  };
  llvm::sys::fs::file_status status;
  if (auto error = llvm::sys::fs::status(path, status)) return refuse(error.message());
  if (llvm::sys::fs::is_directory(status)) return refuse("a folder, expected a file");
  if (!llvm::sys::fs::is_regular_file(status)) return refuse("not a regular file");  // a device may never end
  if (status.getSize() > most) return refuse(fmt::format("{} bytes, at most {} are taken", status.getSize(), most));
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) return refuse(buffer.getError().message());
  return std::move(*buffer);
}

}  // namespace expc::text
