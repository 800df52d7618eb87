// What LLVM asks glibc 2.36 for, so that what is built there also runs where glibc is older (tools/package).
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" void arc4random_buf(void* bytes, size_t size) noexcept {
  for (size_t at = 0; at < size;)
    if (const ssize_t got = getrandom(static_cast<char*>(bytes) + at, size - at, 0); got > 0) at += got;
}

extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  arc4random_buf(&number, sizeof number);
  return number;
}
