#include "runtime/worker/profile/busy.h"

#include <algorithm>
#include <cassert>

namespace expc::profile {

void BusyTime::add(uint64_t begin, uint64_t end) {
  assert(begin <= end);
  intervals_.emplace_back(begin, end);
  if (intervals_.size() < merge_at_) return;
  merge();
  merge_at_ = std::max<size_t>(1 << 16, intervals_.size() * 2);
}

void BusyTime::merge() {
  std::sort(intervals_.begin(), intervals_.end());
  size_t last = 0;
  for (size_t i = 1; i < intervals_.size(); ++i) {
    if (intervals_[i].first <= intervals_[last].second) {
      intervals_[last].second = std::max(intervals_[last].second, intervals_[i].second);
    } else {
      intervals_[++last] = intervals_[i];
    }
  }
  if (!intervals_.empty()) intervals_.resize(last + 1);
}

uint64_t BusyTime::within(uint64_t from, uint64_t to) {
  merge();
  uint64_t total = 0;
  for (const auto& [begin, end] : intervals_) {
    const uint64_t low = std::max(begin, from), high = std::min(end, to);
    if (low < high) total += high - low;
  }
  return total;
}

}  // namespace expc::profile
