#pragma once

// The time in which something ran, of intervals that overlap and come in any order.

#include <cstdint>
#include <utility>
#include <vector>

namespace expc::profile {

class BusyTime {
 public:
  /// In nanoseconds. An interval that ends before it begins is the caller's mistake.
  void add(uint64_t begin, uint64_t end);
  /// Length of the union, within [from, to).
  uint64_t within(uint64_t from, uint64_t to);

 private:
  void merge();
  std::vector<std::pair<uint64_t, uint64_t>> intervals_;
  size_t merge_at_ = 1 << 16;  // memory grows with the gaps, not with what was added
};

}  // namespace expc::profile
