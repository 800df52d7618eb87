#include "runtime/worker/llama/rope.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cassert>
#include <numbers>

#include "runtime/worker/llama/layers.h"
#include "runtime/worker/llama/loops.h"

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor turnedByLoops(const at::Tensor& x, const at::Tensor& rotations, int sign) {
  const int64_t heads = x.size(2), width = x.size(3), row = heads * width, tokens = x.size(0) * x.size(1),
                given = rotations.numel() * 2 / width;  // for each token, or for those of one row
  const at::Tensor y = at::empty_like(x);
  const auto* angles = static_cast<const float*>(rotations.const_data_ptr());
  withLoops(x, [&](const auto& loops, auto stored) {
    using S = decltype(stored);
    overRows(x, tokens, row, [&](int64_t first, int64_t count) {
      loops.turn(in<S>(x) + first * row, angles, first, given, count, heads, width, static_cast<float>(sign),
                 out<S>(y) + first * row);
    });
  });
  return y;
}

/// sign -1 turns back.
at::Tensor turned(const at::Tensor& x, const at::Tensor& rotations, int sign) {
  if (loopsServe(x) && rotations.scalar_type() == at::kComplexFloat && rotations.is_contiguous())
    return turnedByLoops(x, rotations, sign);
  const at::Tensor wide = x.to(accumulateType(x.scalar_type())).contiguous();
  const at::Tensor pairs = at::view_as_complex(wide.view({x.size(0), x.size(1), x.size(2), x.size(3) / 2, 2}));
  return at::view_as_real(pairs * (sign < 0 ? rotations.conj() : rotations)).flatten(-2).to(x.scalar_type());
}

struct Turn : torch::autograd::Function<Turn> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& rotations) {
    ctx->save_for_backward({rotations});
    return turned(x, rotations, 1);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    return {turned(gradients[0].contiguous(), ctx->get_saved_variables()[0], -1), at::Tensor()};
  }
};

}  // namespace

at::Tensor ropeFrequencies(const Config& config) {
  const auto type = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor exponents = at::arange(0, config.head_width, 2, type) / static_cast<double>(config.head_width);
  at::Tensor frequencies = 1.0 / at::pow(at::scalar_tensor(config.rope_base, type), exponents);
  if (!config.rope_scaling) return frequencies;
  const RopeScaling& s = *config.rope_scaling;
  const auto original = static_cast<double>(s.original_positions);
  float* values = frequencies.mutable_data_ptr<float>();
  for (int64_t i = 0; i < frequencies.numel(); ++i) {
    const double frequency = values[i], wave = 2 * std::numbers::pi / frequency;
    if (wave < original / s.high_frequency_factor) continue;
    double kept = 0;  // share of the frequency that is not divided
    if (wave <= original / s.low_frequency_factor)
      kept = (original / wave - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
    values[i] = static_cast<float>((1 - kept) * frequency / s.factor + kept * frequency);
  }
  return frequencies;
}

Rope::Rope(const Config& config, int64_t length, at::ScalarType dtype, at::Device device) {
  const auto type = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor angles = at::outer(at::arange(length, type), ropeFrequencies(config)).to(accumulateType(dtype));
  table_ = at::complex(angles.cos(), angles.sin()).to(device);
}

at::Tensor Rope::rotations(const at::Tensor& positions, int64_t length) const {
  assert(length <= table_.size(0) && "rows are cut to the longest that the decoder was made for");
  const at::Tensor chosen = positions.defined() ? table_.index({positions}) : table_.narrow(0, 0, length);
  return chosen.unsqueeze(-2);  // one for all heads
}

at::Tensor turn(const at::Tensor& x, const at::Tensor& rotations) { return Turn::apply(x, rotations); }

}  // namespace expc::llama
