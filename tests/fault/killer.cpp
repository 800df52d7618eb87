// Loaded into a program before all else (LD_PRELOAD): kills it in the middle of the change to the file system whose
// number EXPC_KILL_AT says. What is written there is written half. A file whose path ends in EXPC_KEEP cannot be
// removed (EIO).

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace {

std::atomic<long> left = 0;

/// Its children are left alone.
__attribute__((constructor)) void begin() {
  if (const char* at = std::getenv("EXPC_KILL_AT")) left = std::strtol(at, nullptr, 10);
  unsetenv("LD_PRELOAD");
}

bool isNext() { return left > 0 && --left == 0; }

[[noreturn]] void die() {
  raise(SIGKILL);
  _exit(1);
}

bool isFile(int fd) {
  struct stat state{};
  return fstat(fd, &state) == 0 && S_ISREG(state.st_mode);
}

template <typename Function>
Function real(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define CHANGE(name, parameters, ...)              \
  extern "C" int name parameters noexcept {        \
    if (isNext()) die();                           \
    static const auto next = real(&::name, #name); \
    return next(__VA_ARGS__);                      \
  }

CHANGE(rename, (const char* from, const char* to), from, to)
CHANGE(renameat2, (int from_folder, const char* from, int to_folder, const char* to, unsigned flags), from_folder, from,
       to_folder, to, flags)
CHANGE(link, (const char* from, const char* to), from, to)
extern "C" int unlink(const char* path) noexcept {
  if (isNext()) die();
  const char* kept = std::getenv("EXPC_KEEP");
  if (kept && std::string_view(path).ends_with(kept)) {
    errno = EIO;
    return -1;
  }
  static const auto next = real(&::unlink, "unlink");
  return next(path);
}

CHANGE(unlinkat, (int folder, const char* path, int flags), folder, path, flags)
CHANGE(remove, (const char* path), path)
CHANGE(mkdir, (const char* path, mode_t mode), path, mode)
CHANGE(ftruncate, (int fd, off_t size), fd, size)
CHANGE(ftruncate64, (int fd, off64_t size), fd, size)

extern "C" int fallocate(int fd, int mode, off_t at, off_t size) {
  if (isNext()) die();
  static const auto next = real(&::fallocate, "fallocate");
  return next(fd, mode, at, size);
}

extern "C" ssize_t write(int fd, const void* data, size_t size) {
  static const auto next = real(&::write, "write");
  if (!isFile(fd) || !isNext()) return next(fd, data, size);
  next(fd, data, size / 2);
  die();
}

extern "C" ssize_t pwrite64(int fd, const void* data, size_t size, off64_t at) {
  static const auto next = real(&::pwrite64, "pwrite64");
  if (!isFile(fd) || !isNext()) return next(fd, data, size, at);
  next(fd, data, size / 2, at);
  die();
}

extern "C" ssize_t pwrite(int fd, const void* data, size_t size, off_t at) { return pwrite64(fd, data, size, at); }

extern "C" int open(const char* path, int flags, ...) {
  static const auto next = real(&::open, "open");
  va_list more;
  va_start(more, flags);
  const auto mode = static_cast<mode_t>((flags & O_CREAT) != 0 ? va_arg(more, int) : 0);
  va_end(more);
  if ((flags & O_CREAT) != 0 && isNext()) die();
  return next(path, flags, mode);
}
