#pragma once

// Scaling and normalising by torch's operators, where the images are.

#include <ATen/core/Tensor.h>

namespace expc::feed {

struct OnDevice {
  int64_t size = 224;
  bool channels_last = false;
  c10::ScalarType type = c10::ScalarType::Float;  // of the result
};

/// images: count x channels (1 or 3) x rows x cols, 0 to 255, any type and layout. Returns count x 3 x size x size,
/// (v / 255 - mean) / std of the bilinearly scaled values (antialiased where an axis shrinks), computed in float (in
/// double if that is the result's type) as the host does it: within 1/255 of its pixels.
at::Tensor prepareOnDevice(const at::Tensor& images, const OnDevice& wanted);

}  // namespace expc::feed
