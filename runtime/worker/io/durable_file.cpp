#include "runtime/worker/io/durable_file.h"

#include <fcntl.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/Path.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "runtime/files/files.h"

namespace expc::io {

int synchronise(int file) { return ::fsync(file) == 0 || errno == EINVAL ? 0 : errno; }

namespace {

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
  if (std::rename(from.c_str(), to.c_str()) != 0) return files::systemError(to, errno);
  if (const int code = synchroniseFolderOf(to)) return files::systemError(to, code);
  return llvm::Error::success();
}

llvm::Error writeDurably(const std::string& path, const std::vector<llvm::ArrayRef<uint8_t>>& parts) {
  return files::writeBy(path, [&](const std::string& temporary) {
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    int code = file < 0 ? errno : 0;
    for (const auto& part : parts)
      if (code == 0) code = files::writeAll(file, llvm::toStringRef(part));
    if (file >= 0 && ::close(file) != 0 && code == 0) code = errno;
    return code == 0 ? llvm::Error::success() : files::systemError(path, code);
  });
}

std::string digestOf(const std::vector<llvm::ArrayRef<uint8_t>>& parts) {
  llvm::BLAKE3 hasher;
  for (const auto& part : parts) hasher.update(part);
  return llvm::toHex(hasher.final<32>(), /*LowerCase=*/true);
}

}  // namespace expc::io
