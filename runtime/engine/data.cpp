#include "runtime/engine/data.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"

namespace expc::engine {
namespace {

namespace fs = std::filesystem;

fs::path resolve(const plan::Plan& plan, const std::string& path) {
  fs::path result(path);
  return result.is_absolute() ? result : fs::path(plan.root) / result;
}

llvm::Error unreadable(const fs::path& path, const std::string& why) {
  return base::failure("data '{}' cannot be read: {}", path.string(), why);
}

/// The regular files below `root`, by name; `root` itself if it is a file.
llvm::Expected<std::vector<fs::path>> filesOf(const fs::path& root) {
  std::vector<fs::path> found;
  auto error = files::eachFile(root.string(), [&](const std::string& path) {
    found.emplace_back(path);
    return llvm::Error::success();
  });
  if (error) return unreadable(root, llvm::toString(std::move(error)));
  std::ranges::sort(found);
  return found;
}

}  // namespace

llvm::Error checkDataExists(const plan::Plan& plan, const std::string& path) {
  const fs::path full = resolve(plan, path);
  std::error_code error;
  if (fs::exists(full, error)) return llvm::Error::success();
  return base::failure(
      "'{}' does not exist (looked for {}), and trials read it: put it there, or name another in the study "
      "or with -D",
      path, full.string());
}

llvm::Error checkDataExists(const plan::Plan& plan) {
  for (const std::string& path : plan.data_paths)
    if (auto error = checkDataExists(plan, path)) return error;
  return llvm::Error::success();
}

llvm::Error addToDigest(llvm::BLAKE3& hasher, const std::string& name, const std::string& path, const Tick& tick,
                        llvm::BLAKE3* alone) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error) return unreadable(path, error.message());
  hasher.update(fmt::format("{}\n{}\n", name, size));
  if (alone) alone->update(fmt::format("\n{}\n", size));
  return files::readPieces(path, [&](llvm::StringRef piece) {
    hasher.update(piece);
    if (alone) alone->update(piece);
    return tick();
  });
}

llvm::Expected<std::string> digestPath(const std::string& path, const Tick& tick) {
  const fs::path root(path);
  auto files = filesOf(root);
  if (!files) return files.takeError();
  llvm::BLAKE3 hasher;
  for (const fs::path& file : *files) {
    std::error_code ignored;
    // The name within the folder, so that the same data elsewhere has the same digest.
    const std::string name = file == root ? "" : fs::relative(file, root, ignored).string();
    if (auto failed = addToDigest(hasher, name, file.string(), tick)) return failed;
  }
  return llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
}

llvm::Expected<std::map<std::string, std::string>> digestData(const plan::Plan& plan, const Tick& tick) {
  std::map<std::string, std::string> digests;
  for (const std::string& path : plan.data_paths) {
    auto digest = digestPath(resolve(plan, path).string(), tick);
    if (!digest) return digest.takeError();
    digests[path] = std::move(*digest);
  }
  return digests;
}

}  // namespace expc::engine
