#include "runtime/worker/text/files.h"

#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>

#include <cstdint>

#include "runtime/files/files.h"
#include "runtime/files/form.h"

namespace expc::text {

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(const std::string& path, uint64_t most,
                                                             const std::string& way_out) {
  auto buffer = files::map(path, most);
  if (!buffer) return llvm::createStringError(fmt::format("{}; {}", llvm::toString(buffer.takeError()), way_out));
  if (const auto form = files::formOf((*buffer)->getBuffer()); !form.empty())
    return llvm::createStringError(fmt::format("{}: it is {}", path, form));
  return buffer;
}

}  // namespace expc::text
