#include "runtime/plan/sketch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace expc::plan {
namespace {

using Buckets = std::vector<std::pair<double, uint64_t>>;

/// The numbers of buckets at one error.
class Scale {
 public:
  explicit Scale(double error)
      : step_(std::log((1 + error) / (1 - error))), middle_(1 - error), offset_(std::ceil(kMostLog / step_)) {}

  double numberOf(double value) const {
    if (value == 0) return 0;
    return std::copysign(std::ceil(std::log(std::abs(value)) / step_) + offset_, value);
  }
  /// The value that is at most the error away from all that the bucket holds: its upper end, less the error.
  double valueOf(double number) const {
    if (number == 0) return 0;
    return std::copysign(std::exp((std::abs(number) - offset_) * step_) * middle_, number);
  }

 private:
  static constexpr double kMostLog = 750;  // no double has a larger logarithm
  double step_, middle_, offset_;
};

/// The value at a place among all, counted from 0, between two of them in proportion.
double valueAt(const Buckets& buckets, double place) {
  const auto at = [&](double whole) {
    double before = 0;
    for (const auto& [value, count] : buckets)
      if (before += double(count); whole < before) return value;
    return buckets.back().first;
  };
  const double low = at(std::floor(place));
  return low + (place - std::floor(place)) * (at(std::floor(place) + 1) - low);
}

uint64_t countOf(const Buckets& buckets) {
  return std::accumulate(buckets.begin(), buckets.end(), uint64_t{0},
                         [](uint64_t sum, const auto& bucket) { return sum + bucket.second; });
}

}  // namespace

std::vector<double> sketchOf(std::span<const double> values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return {std::nan("")};
  std::map<double, double> counts;
  double error = kSketchError;
  for (;; error = 2 * error / (1 + error * error)) {
    const Scale scale(error);
    counts.clear();
    for (const double value : values) ++counts[scale.numberOf(value)];
    if (counts.size() <= kMostBuckets) break;
  }
  std::vector<double> sketch = {error};
  double before = 0;
  for (const auto& [number, count] : counts) {
    sketch.insert(sketch.end(), {number - before, count});
    before = number;
  }
  return sketch;
}

Buckets bucketsOf(const std::vector<double>& sketch) {
  Buckets buckets;
  if (sketch.size() < 3 || !(sketch[0] > 0 && sketch[0] < 1)) return buckets;
  const Scale scale(sketch[0]);
  double number = 0;
  for (size_t i = 1; i + 1 < sketch.size(); i += 2) {
    number += sketch[i];
    // Stores of others may hold anything.
    if (!(sketch[i + 1] >= 1 && sketch[i + 1] < 1e15) || (i > 1 && !(sketch[i] > 0))) return {};
    buckets.emplace_back(scale.valueOf(number), uint64_t(sketch[i + 1]));
  }
  return buckets;
}

uint64_t countOf(const std::vector<double>& sketch) { return countOf(bucketsOf(sketch)); }

std::optional<double> reducedSketch(const std::vector<double>& sketch, const Reduction& reduction) {
  using Take = Reduction::Take;
  const Buckets buckets = bucketsOf(sketch);
  const double count = countOf(buckets);
  if (reduction.take == Take::Count) return count;
  if (buckets.empty()) return std::nan("");
  double sum = 0;
  for (const auto& [value, of] : buckets) sum += value * double(of);
  switch (reduction.take) {
    case Take::Sum:
      return sum;
    case Take::Mean:
      return sum / count;
    case Take::Min:
      return buckets.front().first;
    case Take::Max:
      return buckets.back().first;
    case Take::Percentile:
      return valueAt(buckets, reduction.percentile / 100 * (count - 1));
    default:
      return valueAt(buckets, 0.5 * (count - 1));
  }
}

std::vector<double> percentilesOf(const std::vector<double>& sketch) {
  const Buckets buckets = bucketsOf(sketch);
  std::vector<double> percentiles;
  if (buckets.empty()) return percentiles;
  const auto last = double(countOf(buckets) - 1);
  for (unsigned percent = 1; percent < 100; ++percent) percentiles.push_back(valueAt(buckets, percent / 100.0 * last));
  return percentiles;
}

}  // namespace expc::plan
