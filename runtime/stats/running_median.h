#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

namespace expc::stats {

/// The median of values that come one at a time; of an even number the upper of the two in the middle. Two heaps: a
/// value costs the logarithm of their number, the median nothing.
class RunningMedian {
 public:
  void add(double value) {
    if (upper_.empty() || value >= upper_.front())
      push(upper_, value, std::greater<>());
    else
      push(lower_, value, std::less<>());
    if (upper_.size() > lower_.size() + 1)
      push(lower_, pop(upper_, std::greater<>()), std::less<>());
    else if (lower_.size() > upper_.size())
      push(upper_, pop(lower_, std::less<>()), std::greater<>());
    // Of an even number both heaps have the same size, and the upper one's least is the upper middle.
  }

  /// Nothing while there is no value.
  std::optional<double> median() const { return upper_.empty() ? std::nullopt : std::optional(upper_.front()); }
  size_t size() const { return upper_.size() + lower_.size(); }

 private:
  template <class Order>
  static void push(std::vector<double>& heap, double value, Order order) {
    heap.push_back(value);
    std::push_heap(heap.begin(), heap.end(), order);
  }
  template <class Order>
  static double pop(std::vector<double>& heap, Order order) {
    std::pop_heap(heap.begin(), heap.end(), order);
    const double value = heap.back();
    heap.pop_back();
    return value;
  }

  std::vector<double> upper_, lower_;  // the least of the upper half and the greatest of the lower in front
};

/// The median of values that are all there; nothing without one.
inline std::optional<double> medianOf(const std::vector<double>& values) {
  RunningMedian median;
  for (const double value : values) median.add(value);
  return median.median();
}

}  // namespace expc::stats
