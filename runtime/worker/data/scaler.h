#pragma once

// Scenario A of the reference study on the CPU: a grey image of any size becomes size x size, three equal channels,
// normalised.

#include <cstdint>
#include <vector>

#include "runtime/worker/data/preparation.h"

namespace expc::data {

inline constexpr int64_t kChannels = 3;
inline constexpr double kMean[kChannels] = {0.485, 0.456, 0.406};
inline constexpr double kStd[kChannels] = {0.229, 0.224, 0.225};

/// Bilinear scaling (torch's interpolate, align_corners false) and (v / 255 - mean) / std in one separable pass with
/// tables made once. Values are not rounded to 8 bits in between: it is ToTensor, Resize, Normalize in that order. An
/// axis that shrinks uses the widened triangle filter of torch's antialiased form, torchvision's default; on one that
/// grows both are the same.
class Scaler {
 public:
  /// All arguments in pixels and above zero.
  Scaler(int64_t rows, int64_t cols, int64_t size, Layout layout);

  /// Reads rows x cols bytes, writes 3 x size x size elements in the layout. Safe from several threads at once.
  void apply(const uint8_t* image, float* out) const;
  void apply(const uint8_t* image, double* out) const;

 private:
  /// Output position i is the weighted sum of `width` inputs from first[i]; weights are stored by tap: weights[tap *
  /// outputs + i].
  struct Table {
    int64_t width = 0;
    std::vector<int32_t> first;
    std::vector<float> weights32;
    std::vector<double> weights64;
  };
  static Table makeTable(int64_t inputs, int64_t outputs);
  template <typename T>
  void run(const uint8_t* image, T* out) const;

  int64_t rows_, cols_, size_;
  Layout layout_;
  Table across_, down_;
};

}  // namespace expc::data
