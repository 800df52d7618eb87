#include "runtime/engine/null_machine.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace expc::engine {

llvm::Expected<std::unique_ptr<const NullMachine>> NullMachine::make() {
  std::error_code ignored;
  std::string name = (std::filesystem::temp_directory_path(ignored) / "expc-null-XXXXXX").string();
  if (!mkdtemp(name.data())) {
    return llvm::createStringError(
        fmt::format("no folder for the null cards: {}: {}; name a folder for temporary files in TMPDIR", name,
                    std::strerror(errno)));
  }
  return std::unique_ptr<const NullMachine>(new NullMachine(std::move(name)));
}

NullMachine::~NullMachine() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace expc::engine
