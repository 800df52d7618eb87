#include "compiler/lsp/library.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "runtime/files/files.h"
#include "runtime/plan/plan.h"

namespace expc::lsp {
std::string libraryFolder() {
  llvm::SmallString<128> folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/') {
    folder = cache;
  } else if (const char* home = std::getenv("HOME"); home && *home == '/') {
    folder = home;
    llvm::sys::path::append(folder, ".cache");
  } else {
    return "";
  }
  llvm::sys::path::append(folder, "expc");
  return std::string(folder.str());
}

std::optional<std::string> showText(const std::string& folder, std::string_view group, std::string_view name,
                                    std::string_view text) {
  if (folder.empty()) return std::nullopt;
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, llvm::StringRef(group), plan::shortHash(text));
  if (llvm::sys::fs::create_directories(path)) return std::nullopt;
  llvm::sys::path::append(path, llvm::StringRef(name));
  uint64_t size = 0;
  if (!llvm::sys::fs::file_size(path, size) && size == text.size()) return std::string(path.str());
  if (llvm::Error error = files::write(path.str().str(), text)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  using llvm::sys::fs::perms;
  llvm::sys::fs::setPermissions(path, static_cast<perms>(perms::owner_read | perms::group_read));
  return std::string(path.str());
}

}  // namespace expc::lsp
