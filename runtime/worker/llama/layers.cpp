// The layers of layers.h as autograd functions. Each has up to three ways to compute: our own loops (one pass over
// memory, loops.h), a fused operator of torch on devices, and torch's plain operators for everything else, which is
// also what tests compare with.

#include "runtime/worker/llama/layers.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cassert>
#include <numbers>
#include <utility>

#include "runtime/worker/llama/loops.h"

namespace expc::llama {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// RMS norm. The gradient with u = x inverse and d = g scale is (d - u mean(d u)) inverse.
struct RmsNorm : torch::autograd::Function<RmsNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double epsilon) {
    if (x.is_cuda()) return byTorch(ctx, x, scale, epsilon);
    if (loopsServe(x) && loopsServe(scale)) return byLoops(ctx, x, scale, epsilon);
    // Plain operators. The square is widened before it is summed; 16-bit sums would lose digits over thousands of
    // values.
    const at::ScalarType inner = accumulateType(x.scalar_type());
    const at::Tensor wide = x.to(inner);
    const at::Tensor inverse = wide.square().mean(-1, /*keepdim=*/true).add_(epsilon).rsqrt_();
    ctx->save_for_backward({x, scale, inverse});
    return (wide * inverse).mul_(scale.to(inner)).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &inverse = saved[2];
    if (x.is_cuda()) return backwardByTorch(ctx, gradients[0]);
    if (loopsServe(x) && loopsServe(scale) && loopsServe(gradients[0])) return backwardByLoops(ctx, gradients[0]);
    // `inverse` has the arithmetic's type, so it decides for the way back too.
    const at::ScalarType inner = inverse.scalar_type();
    const at::Tensor gradient = gradients[0].to(inner), unit = x.to(inner) * inverse;
    variable_list result(3);
    if (ctx->needs_input_grad(1))
      result[1] = (gradient * unit).reshape({-1, scale.size(0)}).sum(0).to(scale.scalar_type());
    if (ctx->needs_input_grad(0)) {
      at::Tensor inward = gradient * scale.to(inner);
      const at::Tensor along = (inward * unit).mean(-1, /*keepdim=*/true);
      result[0] = inward.sub_(unit * along).mul_(inverse).to(x.scalar_type());
    }
    return result;
  }

 private:
  static constexpr int64_t kPieces = 16;  // pieces of the sum over rows; a constant, so that threads change no bit

  /// torch's fused kernel, which also returns the inverse that backward needs.
  static at::Tensor byTorch(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double epsilon) {
    auto [y, inverse] = at::_fused_rms_norm(x, scale.sizes(), scale, epsilon);
    ctx->save_for_backward({x, scale, inverse});
    return y;
  }

  static variable_list backwardByTorch(AutogradContext* ctx, const at::Tensor& gradient) {
    const auto saved = ctx->get_saved_variables();
    auto [towards_x, towards_scale] = at::_fused_rms_norm_backward(
        gradient, saved[0], saved[1].sizes(), saved[2], saved[1], {ctx->needs_input_grad(0), ctx->needs_input_grad(1)});
    return {towards_x, towards_scale, at::Tensor()};
  }

  /// One pass over each row by our loops. Rows do not depend on each other.
  static at::Tensor byLoops(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, double epsilon) {
    const int64_t width = scale.size(0), rows = x.numel() / width;
    const at::Tensor y = at::empty_like(x), inverse = at::empty({rows}, x.options().dtype(at::kFloat));
    overRows(x, rows, width, [&]<typename S>(const Loops<S>& loops, int64_t first, int64_t count) {
      loops.norm(in<S>(x, first * width), in<S>(scale), count, width, float(epsilon), out<float>(inverse, first),
                 out<S>(y, first * width));
    });
    ctx->save_for_backward({x, scale, inverse});
    return y;
  }

  /// The scale's gradient is a sum over all rows: each of kPieces pieces has a sum of its own, added in order at the
  /// end.
  static variable_list backwardByLoops(AutogradContext* ctx, const at::Tensor& gradient) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &inverse = saved[2];
    const int64_t width = scale.size(0), rows = x.numel() / width, piece = (rows + kPieces - 1) / kPieces;
    const at::Tensor towards_x = ctx->needs_input_grad(0) ? at::empty_like(x) : at::Tensor(),
                     sums = ctx->needs_input_grad(1) ? at::zeros({kPieces, width}, x.options().dtype(at::kFloat))
                                                     : at::Tensor();
    overRows(x, kPieces, piece * width, [&]<typename S>(const Loops<S>& loops, int64_t begin, int64_t pieces) {
      for (int64_t i = begin; i < begin + pieces; ++i) {
        const int64_t first = std::min(rows, i * piece), count = std::min(rows - first, piece), at = first * width;
        loops.norm_grad(in<S>(x, at), in<S>(scale), in<float>(inverse, first), in<S>(gradient, at), count, width,
                        out<S>(towards_x, at), out<float>(sums, i * width));
      }
    });
    return {towards_x, sums.defined() ? sums.sum(0).to(scale.scalar_type()) : at::Tensor(), at::Tensor()};
  }
};

struct SwiGlu : torch::autograd::Function<SwiGlu> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& gate, const at::Tensor& up) {
    // Both inputs are kept; the sigmoid is computed again rather than stored.
    ctx->save_for_backward({gate, up});
    if (!loopsServe(gate) || !loopsServe(up)) return at::silu(gate).mul_(up);
    const at::Tensor y = at::empty_like(gate);
    overRows(gate, gate.numel(), 1, [&]<typename S>(const Loops<S>& loops, int64_t first, int64_t count) {
      loops.swiglu(in<S>(gate, first), in<S>(up, first), count, out<S>(y, first));
    });
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &gate = saved[0], &up = saved[1], &gradient = gradients[0];
    if (!loopsServe(gate) || !loopsServe(up) || !loopsServe(gradient))
      return {at::silu_backward(gradient * up, gate), at::silu(gate).mul_(gradient)};
    variable_list result = {at::empty_like(gate), at::empty_like(up)};
    overRows(gate, gate.numel(), 1, [&]<typename S>(const Loops<S>& loops, int64_t first, int64_t count) {
      loops.swiglu_grad(in<S>(gate, first), in<S>(up, first), in<S>(gradient, first), count, out<S>(result[0], first),
                        out<S>(result[1], first));
    });
    return result;
  }
};

/// Rotates by our loops. `rotations` are one row's, used for each row of the batch, or all tokens' own.
at::Tensor turnedByLoops(const at::Tensor& x, const at::Tensor& rotations, int sign) {
  // `turn` takes angles by token modulo `given`, so rows may share one row's rotations.
  const int64_t heads = x.size(2), width = x.size(3), row = heads * width, tokens = x.size(0) * x.size(1),
                given = rotations.numel() * 2 / width;  // rotations that are given: one row's, or one for each token
  const at::Tensor y = at::empty_like(x);
  const auto* angles = static_cast<const float*>(rotations.const_data_ptr());
  overRows(x, tokens, row, [&]<typename S>(const Loops<S>& loops, int64_t first, int64_t count) {
    loops.turn(in<S>(x, first * row), angles, first, given, count, heads, width, float(sign), out<S>(y, first * row));
  });
  return y;
}

/// x rotated by `rotations`; sign -1 rotates back, which is the gradient.
at::Tensor turned(const at::Tensor& x, const at::Tensor& rotations, int sign) {
  if (loopsServe(x) && rotations.scalar_type() == at::kComplexFloat && rotations.is_contiguous())
    return turnedByLoops(x, rotations, sign);
  // Pairs of neighbours are complex numbers, which rotation multiplies with cos + i sin.
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
    // A rotation's gradient is the rotation by the negative angle.
    return {turned(gradients[0].contiguous(), ctx->get_saved_variables()[0], -1), at::Tensor()};
  }
};

/// A checkpointed function and its parameters.
struct Work : torch::CustomClassHolder {
  std::function<at::Tensor(const at::Tensor&)> run;
  std::vector<at::Tensor> parameters;
};

/// A function whose graph is made on the way back. The parameters' gradients are results of this node rather than
/// being accumulated inside it, so whatever waits for them (an accumulator, a reducer) runs as it would without a
/// checkpoint.
struct Checkpointed : torch::autograd::Function<Checkpointed> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList,
                            const c10::intrusive_ptr<Work>& work) {
    ctx->save_for_backward({x});
    ctx->saved_data["work"] = c10::IValue::make_capsule(work);
    return work->run(x);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto capsule = ctx->saved_data["work"].toCapsule();
    const auto& work = static_cast<const Work&>(*capsule);
    const bool towards_x = ctx->needs_input_grad(0);
    // A leaf of its own, so that the inner graph ends at x.
    const at::Tensor x = ctx->get_saved_variables()[0].detach().requires_grad_(towards_x);
    variable_list wanted;
    if (towards_x) wanted.push_back(x);
    for (const at::Tensor& parameter : work.parameters)
      if (parameter.requires_grad()) wanted.push_back(parameter);
    at::Tensor y;
    {
      at::AutoGradMode again(true);
      y = work.run(x);
    }
    // Only `work`'s graph is walked here. A parameter that it does not reach has no gradient, hence allow_unused.
    const variable_list found = torch::autograd::grad({y}, wanted, {gradients[0]}, /*retain_graph=*/false,
                                                      /*create_graph=*/false, /*allow_unused=*/true);
    variable_list result(2 + work.parameters.size());
    size_t next = 0;
    if (towards_x) result[0] = found[next++];
    for (size_t i = 0; i < work.parameters.size(); ++i)
      if (work.parameters[i].requires_grad()) result[1 + i] = found[next++];
    return result;
  }
};

}  // namespace

at::Tensor rmsNorm(const at::Tensor& x, const at::Tensor& scale, double epsilon) {
  return RmsNorm::apply(x, scale, epsilon);
}

at::Tensor swiGlu(const at::Tensor& gate, const at::Tensor& up) { return SwiGlu::apply(gate, up); }

at::Tensor ropeFrequencies(const Config& config) {
  // torchtune computes the frequencies in fp32 with these operators; others would give other bits.
  const auto type = at::TensorOptions().dtype(at::kFloat);
  const at::Tensor exponents = at::arange(0, config.head_width, 2, type) / double(config.head_width);
  at::Tensor frequencies = 1.0 / at::pow(at::scalar_tensor(config.rope_base, type), exponents);
  if (!config.rope_scaling) return frequencies;
  const RopeScaling& s = *config.rope_scaling;
  const auto original = double(s.original_positions);
  // Llama 3.1's rule (docs/semantics.md §2), with 1 - kept as the share that is divided by the factor.
  float* values = frequencies.mutable_data_ptr<float>();
  for (int64_t i = 0; i < frequencies.numel(); ++i) {
    const double frequency = values[i], wave = 2 * std::numbers::pi / frequency;
    // Waves shorter than this fit the original context many times, so they keep their frequency.
    if (wave < original / s.high_frequency_factor) continue;
    double kept = 0;  // share of the frequency that is not divided
    if (wave <= original / s.low_frequency_factor)
      kept = (original / wave - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
    values[i] = float((1 - kept) * frequency / s.factor + kept * frequency);
  }
  return frequencies;
}

Rope::Rope(const Config& config, int64_t length, at::ScalarType dtype, at::Device device) {
  // The product position * frequency is rounded to fp32 before it is widened: fp64 angles would differ from
  // torchtune's.
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

at::Tensor checkpointed(const at::Tensor& x, const std::vector<at::Tensor>& parameters,
                        std::function<at::Tensor(const at::Tensor&)> work) {
  auto shared = c10::make_intrusive<Work>();
  shared->run = std::move(work);
  shared->parameters = parameters;
  return Checkpointed::apply(x, at::TensorList(shared->parameters), shared);
}

}  // namespace expc::llama
