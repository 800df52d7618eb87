#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "runtime/worker/serve/serve.h"

namespace expc::workload {

/// Tells the engine how far a trial is: from rank 0 only, and at most five times a second, so that it costs the clock
/// nothing.
class Progress {
 public:
  Progress(serve::EventWriter& writer, bool speaks) : writer_(writer), speaks_(speaks) {}

  void report(uint64_t done, uint64_t total, std::string_view phase) {
    if (!speaks_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(200) && done != total) return;
    last_ = now;
    writer_.progress(done, total, phase);
  }

 private:
  serve::EventWriter& writer_;
  bool speaks_;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace expc::workload
