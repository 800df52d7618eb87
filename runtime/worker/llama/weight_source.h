#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>

#include "runtime/worker/llama/config.h"

namespace expc::llama {

/// Gives the elements [first, first + count) of a weight, row-major and rows in torchtune's order: a flat tensor on the
/// CPU, of a floating-point type that all of the weight has. Where no value matters it has no memory (at::kMeta), and
/// what is made of it is left as memory is found.
using WeightSource = std::function<at::Tensor(const TensorSpec& spec, int64_t first, int64_t count)>;

/// As many elements as are asked for at once where what they go to is elsewhere: so few that they are no burden on the
/// host, so many that all threads draw.
inline constexpr int64_t kSourcePiece = int64_t{1} << 22;

/// All of a weight in a type on a device, in its shape.
at::Tensor loadedWeight(const WeightSource& source, const TensorSpec& spec, at::ScalarType dtype, at::Device device);

/// Fills `to`, flat and on any device, with the elements of a weight from `first` on.
void fillFrom(const WeightSource& source, const TensorSpec& spec, int64_t first, const at::Tensor& to);

}  // namespace expc::llama
