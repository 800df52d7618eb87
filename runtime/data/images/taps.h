#pragma once

// Which inputs make an output when an axis is scaled, and how much each weighs.

#include <cstdint>
#include <vector>

namespace expc::data {

/// Output i is the weighted sum of `width` inputs from first[i]; weights are stored by tap: weights[tap * outputs + i].
/// The filter is a triangle around the output's centre, its half-width one input pixel, or inputs / outputs of them
/// where the axis shrinks (PIL's and torchvision's antialiased bilinear filter).
struct Taps {
  int64_t inputs = 0;
  int64_t outputs = 0;
  int64_t width = 0;
  std::vector<int32_t> first;
  std::vector<float> weights32;
  std::vector<double> weights64;
  std::vector<int32_t> fixed;  // PIL's: weight x 2^22, rounded to nearest

  bool same() const { return inputs == outputs; }
};

/// Fraction bits of Taps::fixed.
inline constexpr int kFixedBits = 22;

/// Both above zero.
Taps makeTaps(int64_t inputs, int64_t outputs);

}  // namespace expc::data
