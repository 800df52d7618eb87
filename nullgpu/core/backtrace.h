#pragma once

namespace nullgpu {

/// The calls that lead to a place.
struct Backtrace {
  static constexpr int kMost = 48;
  void* frames[kMost];
  int count = 0;

  static Backtrace here();
  /// On stderr, also from a signal's handler.
  void print() const;
};

/// On stderr without what allocates: also from a signal's handler.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

}  // namespace nullgpu
