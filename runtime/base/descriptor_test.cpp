#include "runtime/base/descriptor.h"

#include <doctest/doctest.h>

#include "runtime/base/split_mix.h"

using namespace expc::base;

namespace {

bool isOpen(int fd) { return fcntl(fd, F_GETFD) != -1; }

}  // namespace

TEST_CASE("a descriptor has one owner, which closes it and leaves errno as it was") {
  Pipe pipe;
  REQUIRE(pipe.read >= 0);
  const int read = pipe.read, write = pipe.write;
  CHECK(fcntl(read, F_GETFD) == FD_CLOEXEC);
  {
    const Descriptor owner = std::move(pipe.read);
    CHECK(owner == read);
    CHECK(pipe.read == -1);
    CHECK(isOpen(read));
    errno = EPIPE;
  }
  CHECK(errno == EPIPE);
  CHECK_FALSE(isOpen(read));
  pipe.write = Descriptor();
  CHECK_FALSE(isOpen(write));
}

TEST_CASE("SplitMix64 gives the numbers of its reference") {
  uint64_t state = 1234567;
  CHECK(splitMix(state) == 6457827717110365317u);
  CHECK(splitMix(state) == 3203168211198807973u);
}
