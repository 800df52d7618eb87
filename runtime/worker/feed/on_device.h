#pragma once

// Scaling and normalising by torch's operators, where the images are.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::feed {

/// Makes what the network takes from images that crossed as they were decoded.
class DevicePreparer {
 public:
  struct Wanted {
    int64_t size = 224;
    bool channels_last = false;
    c10::ScalarType type = c10::ScalarType::Float;  // of the result
    c10::Device device = c10::Device(c10::kCPU);
  };
  explicit DevicePreparer(const Wanted& wanted);

  /// images: count x channels (1 or 3) x rows x cols on the device, 0 to 255, any type and layout. Returns count x 3 x
  /// size x size, (v / 255 - mean) / std of the bilinearly scaled values (antialiased where an axis shrinks), computed
  /// in float (in double if that is the result's type): within 1/255 of the host's pixels, which are rounded to 8 bits
  /// after scaling if they have colours.
  at::Tensor operator()(const at::Tensor& images) const;

 private:
  Wanted wanted_;
  at::Tensor factor_, offset_;
};

}  // namespace expc::feed
