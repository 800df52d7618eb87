#include "runtime/worker/text/files.h"

#include <llvm/Support/FileSystem.h>

#include <cstdint>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"

namespace expc::text {

using base::failure;

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(const std::string& path, uint64_t most,
                                                             const std::string& way_out) {
  auto buffer = files::map(path, most);
  if (!buffer) return failure("{}; {}", llvm::toString(buffer.takeError()), way_out);
  if (const auto form = files::formOf((*buffer)->getBuffer()); !form.empty())
    return failure("{}: it is {}", path, form);
  return buffer;
}

}  // namespace expc::text
