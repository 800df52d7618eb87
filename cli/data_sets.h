#pragma once

// Helpers that the subcommands of `expc data` share: progress on a terminal with an interrupt that stops the work, and
// descriptions of image sets.

#include <cstdint>
#include <string>

#include "cli/console.h"
#include "cli/progress_line.h"
#include "runtime/base/failure.h"
#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/dataset/inspect.h"
#include "runtime/engine/launch/interrupts.h"

namespace expc::cli {

/// Shows progress on a terminal while something goes on, and ends it when the user interrupts. One object per command.
class Work {
 public:
  explicit Work(const char* verb) : line_(verb) {}

  /// Returns the callback for progress, which base::forEach calls on this thread.
  base::Tick tick() {
    return [this](int64_t done, int64_t total) { return step(done, total); };
  }
  /// Notes progress; the error "interrupted" makes the caller stop and clean up.
  Error step(int64_t done, int64_t total) {
    if (interrupts_.requested()) return failure("interrupted");
    line_.draw(done, total);
    return Error::success();
  }
  /// Does the work. After an interrupt an error ends the command with kInterrupted, whatever it says.
  Exit run(function_ref<Exit()> work) {
    Exit end = work();
    if (end || !interrupts_.requested()) return end;
    return ended(kInterrupted, "{}", toString(end.takeError()));
  }

 private:
  ProgressLine line_;
  engine::launch::Interrupts interrupts_;
};

/// Returns lines on a set's images: numbers, sizes, formats, files whose header is damaged.
std::string imagesSummary(const std::string& path, const dataset::Info& info);
/// Lists the number of images in each class, so that an unbalanced set shows; long lists are cut.
std::string classLines(const dataset::Info& info);

}  // namespace expc::cli
