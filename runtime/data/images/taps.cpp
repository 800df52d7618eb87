// Computes filters as PIL's precompute_coeffs() does, in the same order of operations: the fixed-point weights must be
// equal to the last bit, and so must the scaled images.

#include "runtime/data/images/taps.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace expc::data {

Taps makeTaps(int64_t inputs, int64_t outputs) {
  assert(inputs > 0 && outputs > 0);
  const double scale = double(inputs) / double(outputs);
  // An axis that grows keeps the filter of one input pixel; one that shrinks widens it.
  const double support = std::max(scale, 1.0);
  // The inputs of each output, and the largest number of them.
  std::vector<int64_t> begin(outputs), end(outputs);
  Taps taps;
  taps.inputs = inputs;
  taps.outputs = outputs;
  for (int64_t i = 0; i < outputs; ++i) {
    const double centre = scale * (double(i) + 0.5);
    begin[i] = std::max<int64_t>(0, int64_t(centre - support + 0.5));
    end[i] = std::min<int64_t>(inputs, int64_t(centre + support + 0.5));
    taps.width = std::max(taps.width, end[i] - begin[i]);
  }
  taps.first.resize(outputs);
  taps.weights64.assign(outputs * taps.width, 0.0);
  for (int64_t i = 0; i < outputs; ++i) {
    // Every output reads `width` inputs; if it needs fewer, the others get no weight.
    const int64_t first = std::min(begin[i], inputs - taps.width);
    taps.first[i] = int32_t(first);
    const double centre = scale * (double(i) + 0.5);
    const double narrowed = 1.0 / support;  // multiplied by, as PIL does: dividing would round differently
    double sum = 0;
    for (int64_t j = begin[i]; j < end[i]; ++j) {
      const double distance = (double(j) - centre + 0.5) * narrowed;
      const double weight = std::max(0.0, 1.0 - std::abs(distance));
      taps.weights64[(j - first) * outputs + i] = weight;
      sum += weight;
    }
    // At the borders the triangle is cut, so the weights are scaled to the sum 1.
    for (int64_t j = begin[i]; j < end[i]; ++j) taps.weights64[(j - first) * outputs + i] /= sum;
  }
  taps.weights32.assign(taps.weights64.begin(), taps.weights64.end());
  taps.fixed.reserve(taps.weights64.size());
  for (double weight : taps.weights64) taps.fixed.push_back(int32_t(0.5 + weight * (int64_t{1} << kFixedBits)));
  return taps;
}

}  // namespace expc::data
