#include "nullgpu/core/backtrace.h"

#include <execinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace nullgpu {

Backtrace Backtrace::here() {
  Backtrace result;
  result.count = backtrace(result.frames, kMost);
  return result;
}

void Backtrace::print() const { backtrace_symbols_fd(frames, count, STDERR_FILENO); }

void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, std::clamp(length, 0, int(sizeof line) - 1));
}

}  // namespace nullgpu
