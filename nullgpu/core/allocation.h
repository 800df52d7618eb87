#pragma once

#include <cstddef>

namespace nullgpu {

/// An allocation of a card's memory; null and 0 if there is none.
struct Allocation {
  char* begin = nullptr;
  /// The size that was requested, not rounded up to pages.
  size_t bytes = 0;
};

}  // namespace nullgpu
