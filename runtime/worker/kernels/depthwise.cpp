#include "runtime/worker/kernels/depthwise.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "runtime/worker/kernels/depthwise_loops.h"

namespace expc::kernels {
namespace {

constexpr int64_t kGrainFlops = 1 << 16;  // smallest piece of work worth a thread

int64_t grain(int64_t flops_each) { return std::max<int64_t>(1, kGrainFlops / std::max<int64_t>(1, flops_each)); }

/// Memory order in which the loops see a tensor. Tensors whose spatial size or channel count is 1 are in both orders.
at::MemoryFormat orderOf(const at::Tensor& x) {
  if (x.is_contiguous(at::MemoryFormat::ChannelsLast)) return at::MemoryFormat::ChannelsLast;
  if (x.is_contiguous()) return at::MemoryFormat::Contiguous;
  return x.suggest_memory_format();
}

DepthwiseShape shapeOf(const at::Tensor& x, int64_t stride) {
  const int64_t h = x.size(2), w = x.size(3);
  return {x.size(0), x.size(1), h, w, (h - 1) / stride + 1, (w - 1) / stride + 1, stride};
}

/// [C, 1, 3, 3] as [9][C], the kernel turned around if asked.
std::vector<double> byTap(const at::Tensor& weight, bool turned) {
  const int64_t channels = weight.size(0);
  const double* from = weight.const_data_ptr<double>();
  std::vector<double> to(static_cast<size_t>(9 * channels));
  for (int64_t k = 0; k < 9; ++k)
    for (int64_t c = 0; c < channels; ++c) to[k * channels + c] = from[c * 9 + (turned ? 8 - k : k)];
  return to;
}

/// Runs an NCHW loop over [0, count) in parallel, each piece with scratch memory of its own.
template <typename Work>
void overPlanes(const DepthwiseShape& s, int64_t count, int64_t flops_each, Work work) {
  at::parallel_for(0, count, grain(flops_each), [&](int64_t begin, int64_t end) {
    static thread_local std::vector<double> scratch;
    scratch.resize(std::max(scratch.size(), static_cast<size_t>(scratchSize(s))));
    work(scratch.data(), begin, end);
  });
}

at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const DepthwiseShape& s, at::MemoryFormat order) {
  at::Tensor y =
      at::empty({s.batch, s.channels, s.out_height, s.out_width}, x.options().memory_format(x.suggest_memory_format()));
  const double* in = x.const_data_ptr<double>();
  double* out = y.mutable_data_ptr<double>();
  const DepthwiseLoops& loops = depthwiseLoops();
  if (order == at::MemoryFormat::ChannelsLast) {
    const auto taps = byTap(weight, false);
    at::parallel_for(0, s.batch * s.out_height, grain(18 * s.out_width * s.channels),
                     [&](int64_t begin, int64_t end) { loops.forward_nhwc(s, in, taps.data(), out, begin, end); });
  } else {
    const double* w = weight.const_data_ptr<double>();
    overPlanes(
        s, s.batch * s.channels, 18 * s.out_height * s.out_width,
        [&](double* scratch, int64_t begin, int64_t end) { loops.forward_nchw(s, in, w, out, scratch, begin, end); });
  }
  return y;
}

at::Tensor inputGrad(const at::Tensor& gy, const at::Tensor& weight, const DepthwiseShape& s, at::MemoryFormat order,
                     const at::Tensor& x) {
  at::Tensor gx = at::empty(x.sizes(), x.options().memory_format(x.suggest_memory_format()));
  const double* in = gy.const_data_ptr<double>();
  double* out = gx.mutable_data_ptr<double>();
  const DepthwiseLoops& loops = depthwiseLoops();
  const int64_t row_flops = 18 * s.width * s.channels / s.stride;
  if (order == at::MemoryFormat::ChannelsLast && s.stride == 1) {
    const auto taps = byTap(weight, true);
    at::parallel_for(0, s.batch * s.height, grain(row_flops),
                     [&](int64_t begin, int64_t end) { loops.forward_nhwc(s, in, taps.data(), out, begin, end); });
  } else if (order == at::MemoryFormat::ChannelsLast) {
    const auto taps = byTap(weight, false);
    at::parallel_for(0, s.batch * s.height, grain(row_flops),
                     [&](int64_t begin, int64_t end) { loops.input_grad_nhwc(s, in, taps.data(), out, begin, end); });
  } else {
    const double* w = weight.const_data_ptr<double>();
    overPlanes(s, s.batch * s.channels, 18 * s.out_height * s.out_width,
               [&](double* scratch, int64_t begin, int64_t end) {
                 loops.input_grad_nchw(s, in, w, out, scratch, begin, end);
               });
  }
  return gx;
}

at::Tensor weightGrad(const at::Tensor& x, const at::Tensor& gy, const DepthwiseShape& s, at::MemoryFormat order) {
  at::Tensor gw = at::empty({s.channels, 1, 3, 3}, x.options());
  const double *in = x.const_data_ptr<double>(), *g = gy.const_data_ptr<double>();
  double* out = gw.mutable_data_ptr<double>();
  const DepthwiseLoops& loops = depthwiseLoops();
  const int64_t flops = 18 * s.batch * s.out_height * s.out_width;
  if (order == at::MemoryFormat::ChannelsLast) {
    // Eight channels at a time: a cache line, and a whole vector.
    at::parallel_for(0, (s.channels + 7) / 8, grain(8 * flops), [&](int64_t begin, int64_t end) {
      loops.weight_grad_nhwc(s, in, g, out, 8 * begin, std::min(8 * end, s.channels));
    });
  } else {
    overPlanes(s, s.channels, flops, [&](double* scratch, int64_t begin, int64_t end) {
      loops.weight_grad_nchw(s, in, g, out, scratch, begin, end);
    });
  }
  return gw;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Depthwise : torch::autograd::Function<Depthwise> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
    const at::MemoryFormat order = orderOf(x);
    const at::Tensor input = x.contiguous(order), kernel = weight.contiguous();
    ctx->save_for_backward({input, kernel});
    ctx->saved_data["stride"] = stride;
    return kernels::forward(input, kernel, shapeOf(input, stride), order);
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const DepthwiseShape shape = shapeOf(x, ctx->saved_data["stride"].toInt());
    const at::MemoryFormat order = orderOf(x);
    const at::Tensor gy = gradients[0].contiguous(order);
    variable_list result(3);
    if (ctx->needs_input_grad(0)) result[0] = inputGrad(gy, weight, shape, order, x);
    if (ctx->needs_input_grad(1)) result[1] = weightGrad(x, gy, shape, order);
    return result;
  }
};

}  // namespace

bool servesDepthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride, int64_t padding,
                        int64_t groups) {
  return x.scalar_type() == at::kDouble && weight.scalar_type() == at::kDouble && x.device().is_cpu() && x.dim() == 4 &&
         x.numel() > 0 && weight.dim() == 4 && weight.size(0) == groups && x.size(1) == groups && weight.size(1) == 1 &&
         weight.size(2) == 3 && weight.size(3) == 3 && padding == 1 && (stride == 1 || stride == 2);
}

at::Tensor depthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
  return Depthwise::apply(x, weight, stride);
}

}  // namespace expc::kernels
