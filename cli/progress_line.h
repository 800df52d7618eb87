#pragma once

// A line of progress for commands that may take long.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>

#include "runtime/base/format.h"
#include "runtime/base/printable.h"

namespace expc::cli {

/// Shows on a terminal how far something is, "drawing 5 of 10", redrawn at most five times a second; silent otherwise.
class ProgressLine {
 public:
  explicit ProgressLine(const char* verb) : verb_(verb) {}
  ~ProgressLine() { clear(); }

  void draw(int64_t done, int64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (!draws_ || now - drawn_ < std::chrono::milliseconds(200)) return;
    drawn_ = now;
    base::tell(stderr, fmt::format("\r{} {} of {}\x1b[K", verb_, done, total));
  }
  /// Takes the line away before other text is printed.
  void clear() {
    if (draws_ && drawn_ != std::chrono::steady_clock::time_point()) base::tell(stderr, "\r\x1b[K");
    drawn_ = {};
  }

 private:
  const char* verb_;
  bool draws_ = isatty(STDERR_FILENO) == 1;
  // When the line was last drawn; the default time means that no line is shown.
  std::chrono::steady_clock::time_point drawn_;
};

}  // namespace expc::cli
