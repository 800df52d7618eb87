#include "runtime/engine/data.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

namespace expc::engine {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPiece = 1 << 20;

fs::path resolve(const plan::Plan& plan, const std::string& path) {
  fs::path result(path);
  return result.is_absolute() ? result : fs::path(plan.root) / result;
}

llvm::Error unreadable(const fs::path& path, const std::string& why) {
  return llvm::createStringError(fmt::format("data '{}' cannot be read: {}", path.string(), why));
}

llvm::Error addFile(llvm::BLAKE3& hasher, const fs::path& path, const std::function<llvm::Error()>& tick) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return unreadable(path, std::strerror(errno));
  std::vector<uint8_t> piece(kPiece);
  while (size_t size = std::fread(piece.data(), 1, piece.size(), file.get())) {
    hasher.update(llvm::ArrayRef<uint8_t>(piece.data(), size));
    if (auto error = tick()) return error;
  }
  return std::ferror(file.get()) ? unreadable(path, "reading failed") : llvm::Error::success();
}

/// The regular files below `root`, by name; `root` itself if it is a file.
llvm::Expected<std::vector<fs::path>> filesOf(const fs::path& root) {
  std::error_code error;
  std::vector<fs::path> files;
  if (!fs::is_directory(root, error)) return std::vector<fs::path>{root};
  auto options = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator it(root, options, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path());
  }
  if (error) return unreadable(root, error.message());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

llvm::Error checkDataExists(const plan::Plan& plan, const std::string& path) {
  const fs::path full = resolve(plan, path);
  std::error_code error;
  if (fs::exists(full, error)) return llvm::Error::success();
  return llvm::createStringError(
      fmt::format("'{}' does not exist (looked for {}), and trials read it: put it there, or name another in the study "
                  "or with -D",
                  path, full.string()));
}

llvm::Error checkDataExists(const plan::Plan& plan) {
  for (const std::string& path : plan.data_paths)
    if (auto error = checkDataExists(plan, path)) return error;
  return llvm::Error::success();
}

llvm::Error addToDigest(llvm::BLAKE3& hasher, const std::string& name, const std::string& path,
                        const std::function<llvm::Error()>& tick) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error) return unreadable(path, error.message());
  hasher.update(fmt::format("{}\n{}\n", name, size));
  return addFile(hasher, path, tick);
}

llvm::Expected<std::string> digestPath(const std::string& path, const std::function<llvm::Error()>& tick) {
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

llvm::Expected<std::map<std::string, std::string>> digestData(const plan::Plan& plan,
                                                              const std::function<llvm::Error()>& tick) {
  std::map<std::string, std::string> digests;
  for (const std::string& path : plan.data_paths) {
    auto digest = digestPath(resolve(plan, path).string(), tick);
    if (!digest) return digest.takeError();
    digests[path] = std::move(*digest);
  }
  return digests;
}

}  // namespace expc::engine
