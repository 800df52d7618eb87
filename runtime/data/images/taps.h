#pragma once

// The filters that scale an axis: the inputs of each output, and their weights.

#include <cstdint>
#include <vector>

namespace expc::data {

/// Output i is the weighted sum of `width` inputs from first[i] on. Weights are stored by tap, so that loops over
/// outputs read them in order: weights[tap * outputs + i]. The filter is a triangle around the output's centre. Its
/// half-width is one input pixel, or inputs / outputs of them if the axis shrinks (the antialiased bilinear filter of
/// PIL and torchvision).
struct Taps {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t width = 0;
  std::vector<int32_t> first;
  std::vector<float> weights32;
  std::vector<double> weights64;
  std::vector<int32_t> fixed;  // weights in PIL's fixed point: times 2^22, rounded to nearest

  /// Whether nothing changes along this axis.
  bool same() const { return inputs == outputs; }
};

/// Fraction bits of Taps::fixed: PIL's PRECISION_BITS.
inline constexpr int kFixedBits = 22;

/// The filter for an axis. Both sizes must be above zero.
Taps makeTaps(int64_t inputs, int64_t outputs);

}  // namespace expc::data
