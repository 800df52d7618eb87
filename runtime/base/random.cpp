// The random numbers that LLVM and libarchive ask glibc 2.36 for, so that what is built there also runs where glibc is
// older: nothing else asks for more than 2.34.
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" {

__attribute__((visibility("default"))) void arc4random_buf(void* bytes, size_t size) noexcept {
  for (char *at = static_cast<char*>(bytes), *end = at + size; at < end;) {
    const ssize_t got = getrandom(at, end - at, 0);
    if (got > 0) at += got;
  }
}

__attribute__((visibility("default"))) uint32_t arc4random() noexcept {
  uint32_t number = 0;
  arc4random_buf(&number, sizeof number);
  return number;
}

}  // extern "C"
