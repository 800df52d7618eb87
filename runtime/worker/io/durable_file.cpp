#include "runtime/worker/io/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/Path.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace expc::io {

llvm::Error systemError(const std::string& path, int code) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), fmt::format("{}: {}", path, std::strerror(code)));
}

int synchronise(int file) { return ::fsync(file) == 0 || errno == EINVAL ? 0 : errno; }

namespace {

/// 0, or the system's error.
int writeAll(int file, llvm::ArrayRef<uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.drop_front(static_cast<size_t>(written));
  }
  return 0;
}

int synchroniseFolderOf(const std::string& path) {
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  const int folder = ::open(parent.empty() ? "." : parent.str().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return errno;
  const int code = synchronise(folder);
  ::close(folder);
  return code;
}

}  // namespace

llvm::Error moveDurably(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) return systemError(to, errno);
  if (const int code = synchroniseFolderOf(to)) return systemError(to, code);
  return llvm::Error::success();
}

llvm::Error writeDurably(const std::string& path, const std::vector<llvm::ArrayRef<uint8_t>>& parts) {
  const std::string temporary = fmt::format("{}.partial-{}", path, ::getpid());
  const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return systemError(path, errno);
  int code = 0;
  for (const auto& part : parts)
    if (code == 0) code = writeAll(file, part);
  if (code == 0) code = synchronise(file);
  if (::close(file) != 0 && code == 0) code = errno;
  if (code != 0) {
    ::unlink(temporary.c_str());
    return systemError(path, code);
  }
  if (auto error = moveDurably(temporary, path)) {
    ::unlink(temporary.c_str());
    return error;
  }
  return llvm::Error::success();
}

std::string digestOf(const std::vector<llvm::ArrayRef<uint8_t>>& parts) {
  llvm::BLAKE3 hasher;
  for (const auto& part : parts) hasher.update(part);
  return llvm::toHex(hasher.final<32>(), /*LowerCase=*/true);
}

}  // namespace expc::io
