#pragma once

// Helpers that the subcommands of `expc data` share: progress on a terminal with an interrupt that stops the work, and
// descriptions of image sets.

#include <fmt/format.h>
#include <llvm/Support/Error.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

#include "cli/console.h"
#include "runtime/base/parallel.h"
#include "runtime/base/printable.h"
#include "runtime/data/dataset/inspect.h"
#include "runtime/engine/launch/interrupts.h"

namespace expc::cli {

/// Shows progress on a terminal while something goes on, and ends it when the user interrupts. One object per command.
class Work {
 public:
  explicit Work(const char* verb) : verb_(verb), draws_(isatty(STDERR_FILENO) == 1) {}
  ~Work() { clear(); }

  /// Returns the callback for progress, which base::forEach calls on this thread.
  base::Tick tick() {
    return [this](int64_t done, int64_t total) { return step(done, total); };
  }
  /// Notes progress; the error "interrupted" makes the caller stop and clean up. The line is redrawn at most five times
  /// a second.
  llvm::Error step(int64_t done, int64_t total) {
    if (interrupts_.requested()) return llvm::createStringError(llvm::inconvertibleErrorCode(), "interrupted");
    const auto now = std::chrono::steady_clock::now();
    if (!draws_ || now - drawn_ < std::chrono::milliseconds(200)) return llvm::Error::success();
    drawn_ = now;
    base::tell(stderr, fmt::format("\r{} {} of {}\x1b[K", verb_, done, total));
    return llvm::Error::success();
  }
  /// Clears the line, shows the error and returns the exit code: kInterrupted after an interrupt, whatever the error
  /// says.
  int failed(llvm::Error error, const Console& console) {
    clear();
    console.error(std::move(error));
    return interrupts_.requested() ? kInterrupted : kError;
  }

 private:
  void clear() {
    if (draws_ && drawn_ != std::chrono::steady_clock::time_point()) base::tell(stderr, "\r\x1b[K");
    drawn_ = {};
  }

  const char* verb_;
  // Whether standard error is a terminal, and when its line was last drawn; the default time means that no line is
  // shown.
  bool draws_;
  engine::launch::Interrupts interrupts_;
  std::chrono::steady_clock::time_point drawn_;
};

/// Returns lines on a set's images: numbers, sizes, formats, files whose header is damaged.
std::string imagesSummary(const std::string& path, const dataset::Info& info);
/// Lists the number of images in each class, so that an unbalanced set shows; long lists are cut.
std::string classLines(const dataset::Info& info);

}  // namespace expc::cli
