#pragma once

// File descriptors that close themselves, so that an early return leaks none.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace expc::base {

/// Owns a descriptor; -1: none. Closing keeps errno, so a caller may still ask why something before failed.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    close();
    fd_ = std::exchange(other.fd_, -1);
    return *this;
  }
  ~Descriptor() { close(); }
  operator int() const { return fd_; }

  void close() {
    const int before = errno;
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    errno = before;
  }

 private:
  int fd_ = -1;
};

/// A pipe. Both ends are closed in programs that are started (O_CLOEXEC). -1, with errno, if there is none.
struct Pipe {
  Descriptor read, write;

  Pipe() {
    int ends[] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) == 0) read = Descriptor(ends[0]), write = Descriptor(ends[1]);
  }
};

}  // namespace expc::base

namespace expc {
using base::Descriptor;
}
