#include "runtime/store/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/base/descriptor.h"

namespace expc::store {
namespace {

/// Only this user may have made it: others may write in /tmp too.
std::string spoolPath(const std::string& store) {
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/expc-spool-{}-{}.jsonl", folder && *folder == '/' ? folder : "/tmp", getuid(), store);
}

/// None and errno where it cannot be opened or is not a file of ours.
base::Descriptor openSpool(const std::string& path, int flags) {
  base::Descriptor fd(open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat state{};
  if (fd < 0 || (fstat(fd, &state) == 0 && S_ISREG(state.st_mode) && state.st_uid == getuid())) return fd;
  errno = EPERM;
  return {};
}

}  // namespace

llvm::Error spool(const std::string& store, const Entry& entry) {
  const std::string path = spoolPath(store), line = toLine(entry) + "\n";
  const base::Descriptor fd = openSpool(path, O_WRONLY | O_CREAT | O_APPEND);
  if (fd >= 0 && ::write(fd, line.data(), line.size()) == ssize_t(line.size()) && fdatasync(fd) == 0)
    return llvm::createStringError(fmt::format(
        "what was measured last is kept in {} and is taken from there by the next run on this machine", path));
  return llvm::createStringError(
      fmt::format("what was measured last is lost: {} cannot be written either: {}", path, std::strerror(errno)));
}

std::vector<Entry> spooled(const std::string& store) {
  std::vector<Entry> entries;
  const base::Descriptor fd = openSpool(spoolPath(store), O_RDONLY);
  std::string text;
  char piece[65536];
  for (ssize_t size; fd >= 0 && (size = read(fd, piece, sizeof piece)) > 0;) text.append(piece, size_t(size));
  for (llvm::StringRef rest = text; !rest.empty();) {
    const auto [line, next] = rest.split('\n');
    rest = next;
    if (auto entry = llvm::expectedToOptional(entryFromLine(line)))  // else it was cut
      entries.push_back(std::move(*entry));
  }
  return entries;
}

void dropSpool(const std::string& store) { unlink(spoolPath(store).c_str()); }

}  // namespace expc::store
