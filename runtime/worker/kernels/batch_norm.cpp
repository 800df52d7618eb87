// Batch norm as an autograd function: two passes over memory each way, the first for sums, the second to apply them.
// Sums are made for pieces whose size depends on the shape alone and added in order, so threads change no bit.
//
// With xh = (x - mean) / deviation and n values per channel, the gradient is
//   gx = scale / deviation * (g - sum(g) / n - xh * sum(g xh) / n),
// which grad_apply computes as factor * (g - from_g - (x - mean) * from_x).

#include "runtime/worker/kernels/batch_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/worker/kernels/batch_norm_loops.h"
#include "runtime/worker/kernels/block_pieces.h"

namespace expc::kernels {
namespace {

constexpr int64_t kGrain = 1 << 15;  // values; less work than this is not worth a thread
// Pieces of a sum at most; a constant, so that the number of threads changes no bit
constexpr int64_t kMostPieces = 64;
constexpr int64_t kSmallestPiece = 256;  // pixels

struct Shape {
  int64_t pixels, channels;
};
Shape shapeOf(const at::Tensor& x) { return {x.size(0) * x.size(2) * x.size(3), x.size(1)}; }

/// Sums of two terms for each channel: calls `work(first pixel, pixels, sums)` for pieces of the pixels in parallel,
/// then adds the pieces' sums in order.
template <typename Work>
Sums summed(const Shape& s, Work work) {
  const int64_t piece = std::max(kSmallestPiece, (s.pixels + kMostPieces - 1) / kMostPieces),
                pieces = (s.pixels + piece - 1) / piece;
  Sums parts(size_t(pieces * 2 * s.channels));
  at::parallel_for(0, pieces, std::max<int64_t>(1, kGrain / (piece * s.channels)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      work(i * piece, std::min(piece, s.pixels - i * piece), parts.data() + i * 2 * s.channels);
  });
  return addedUp(std::move(parts), 2 * s.channels, pieces);
}

/// Calls work(begin, end) for ranges of pixels in parallel.
template <typename Work>
void forEachRange(const Shape& s, Work work) {
  at::parallel_for(0, s.pixels, std::max<int64_t>(1, kGrain / s.channels), work);
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct TrainBatchNorm : torch::autograd::Function<TrainBatchNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                            const at::Tensor& running_mean, const at::Tensor& running_var, double momentum,
                            double epsilon) {
    RECORD_USER_SCOPE("forward of expc::kernels::TrainBatchNorm");
    const Shape s = shapeOf(x);
    const BatchNormLoops& loops = loopsOf<BatchNormLoops>();
    const float* in = x.const_data_ptr<float>();
    const auto sums = summed(s, [&](int64_t first, int64_t pixels, double* out) {
      loops.sums(in + first * s.channels, pixels, s.channels, out);
    });

    const auto options = x.options().memory_format(at::MemoryFormat::Contiguous);
    const at::Tensor mean = at::empty({s.channels}, options), deviation = at::empty({s.channels}, options);
    float *means = mean.mutable_data_ptr<float>(), *inverse = deviation.mutable_data_ptr<float>();
    float *moved_mean = running_mean.mutable_data_ptr<float>(), *moved_var = running_var.mutable_data_ptr<float>();
    const float* scales = scale.const_data_ptr<float>();
    std::vector<float> factors(size_t(s.channels));
    const auto n = double(s.pixels);
    for (int64_t c = 0; c < s.channels; ++c) {
      // E[x^2] - E[x]^2 is safe here: squares of floats are exact in double, so cancellation loses nothing that fp32
      // could show.
      const double m = sums[c] / n, variance = std::max(0.0, sums[s.channels + c] / n - m * m);
      means[c] = float(m);
      inverse[c] = float(1 / std::sqrt(variance + epsilon));
      factors[c] = scales[c] * inverse[c];
      moved_mean[c] = float((1 - momentum) * moved_mean[c] + momentum * m);
      moved_var[c] = float((1 - momentum) * moved_var[c] + momentum * variance * n / (n - 1));
    }

    at::Tensor y = at::empty(x.sizes(), x.options().memory_format(x.suggest_memory_format()));
    float* out = y.mutable_data_ptr<float>();
    const float* shifts = shift.const_data_ptr<float>();
    forEachRange(s, [&](int64_t begin, int64_t end) {
      loops.apply(in + begin * s.channels, end - begin, s.channels, means, factors.data(), shifts,
                  out + begin * s.channels);
    });
    // Save the statistics of the batch; the running ones have moved on already.
    ctx->save_for_backward({x, scale, mean, deviation});
    return y;
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &mean = saved[2], &deviation = saved[3];
    const Shape s = shapeOf(x);
    const BatchNormLoops& loops = loopsOf<BatchNormLoops>();
    const at::Tensor gradient = gradients[0].contiguous(at::MemoryFormat::ChannelsLast);
    const float *in = x.const_data_ptr<float>(), *g = gradient.const_data_ptr<float>(),
                *means = mean.const_data_ptr<float>();
    const auto sums = summed(s, [&](int64_t first, int64_t pixels, double* out) {
      loops.grad_sums(in + first * s.channels, g + first * s.channels, pixels, s.channels, means, out);
    });

    const float *scales = scale.const_data_ptr<float>(), *inverse = deviation.const_data_ptr<float>();
    // Results stand in forward's order: x, scale, shift, then four arguments without a gradient.
    variable_list result(7);
    result[1] = at::empty_like(scale);
    result[2] = at::empty_like(scale);
    float *scale_grad = result[1].mutable_data_ptr<float>(), *shift_grad = result[2].mutable_data_ptr<float>();
    std::vector<float> factors(size_t(s.channels)), from_g(factors), from_x(factors);
    const auto n = double(s.pixels);
    for (int64_t c = 0; c < s.channels; ++c) {
      const double sum_g = sums[c], sum_gx = sums[s.channels + c], inv = inverse[c];
      shift_grad[c] = float(sum_g);
      scale_grad[c] = float(sum_gx * inv);
      factors[c] = scales[c] * inverse[c];
      from_g[c] = float(sum_g / n);
      from_x[c] = float(sum_gx * inv * inv / n);
    }
    if (!ctx->needs_input_grad(0)) return result;
    result[0] = at::empty(x.sizes(), x.options().memory_format(x.suggest_memory_format()));
    float* out = result[0].mutable_data_ptr<float>();
    forEachRange(s, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * s.channels;
      loops.grad_apply(in + at, g + at, end - begin, s.channels, means, factors.data(), from_g.data(), from_x.data(),
                       out + at);
    });
    return result;
  }
};

}  // namespace

bool servesBatchNorm(const at::Tensor& x) {
  return x.scalar_type() == at::kFloat && x.device().is_cpu() && x.dim() == 4 &&
         x.is_contiguous(at::MemoryFormat::ChannelsLast) && x.size(0) * x.size(2) * x.size(3) > 1;
}

at::Tensor trainBatchNorm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift,
                          const at::Tensor& running_mean, const at::Tensor& running_var, double momentum,
                          double epsilon) {
  return TrainBatchNorm::apply(x, scale, shift, running_mean, running_var, momentum, epsilon);
}

}  // namespace expc::kernels
