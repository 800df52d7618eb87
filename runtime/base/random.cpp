// Functions that LLVM takes from glibc 2.36. We define them, so that programs built there also run with an older
// glibc (tools/package).
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

extern "C" void arc4random_buf(void* bytes, size_t size) noexcept {
  // getrandom may return less than asked for, and fails when a signal interrupts it.
  for (size_t at = 0; at < size;)
    if (const ssize_t got = getrandom(static_cast<char*>(bytes) + at, size - at, 0); got > 0) at += got;
}

extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  arc4random_buf(&number, sizeof number);
  return number;
}
