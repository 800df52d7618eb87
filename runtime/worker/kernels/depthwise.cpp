// The depthwise convolution as an autograd function: brings tensors to a type and memory order that the loops know,
// and shares the loops' ranges out among threads. bf16 is converted to fp32 as a whole tensor before the loops and
// back after them: simple, and still faster than torch in the cases that fasterDepthwise3x3 lists.

#include "runtime/worker/kernels/depthwise.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <vector>

#include "runtime/worker/kernels/block_pieces.h"
#include "runtime/worker/kernels/depthwise_loops.h"

namespace expc::kernels {
namespace {

constexpr int64_t kGrainFlops = 1 << 16;  // less work than this is not worth a thread

/// How many units of `flops_each` a thread should take at least.
int64_t grain(int64_t flops_each) { return std::max<int64_t>(1, kGrainFlops / std::max<int64_t>(1, flops_each)); }

/// The memory order in which the loops read x. A tensor with one pixel or one channel is in both orders; the first
/// test decides, the same way in forward and backward.
at::MemoryFormat orderOf(const at::Tensor& x) {
  if (x.is_contiguous(at::MemoryFormat::ChannelsLast)) return at::MemoryFormat::ChannelsLast;
  if (x.is_contiguous()) return at::MemoryFormat::Contiguous;
  return x.suggest_memory_format();
}

/// The weight [C, 1, 3, 3] as [9][C], so that a tap's channels are neighbours. `turned` rotates each kernel by 180
/// degrees.
template <typename T>
std::vector<T> byTap(const at::Tensor& weight, bool turned) {
  const int64_t channels = weight.size(0);
  const T* from = weight.const_data_ptr<T>();
  std::vector<T> to(size_t(9 * channels));
  for (int64_t k = 0; k < 9; ++k)
    for (int64_t c = 0; c < channels; ++c) to[k * channels + c] = from[c * 9 + (turned ? 8 - k : k)];
  return to;
}

/// Calls an NCHW loop over [0, count) in parallel. Each thread keeps its scratch memory from call to call.
template <typename T, typename Work>
void overPlanes(const DepthwiseShape& s, int64_t count, int64_t flops_each, Work work) {
  at::parallel_for(0, count, grain(flops_each), [&](int64_t begin, int64_t end) {
    static thread_local std::vector<T> scratch;
    scratch.resize(std::max(scratch.size(), size_t(scratchSize(s))));
    work(scratch.data(), begin, end);
  });
}

/// y from x, both in T. `order` is the order in which x lies.
template <typename T>
at::Tensor forward(const at::Tensor& x, const at::Tensor& weight, const DepthwiseShape& s, at::MemoryFormat order) {
  at::Tensor y =
      at::empty({s.batch, s.channels, s.out_height, s.out_width}, x.options().memory_format(x.suggest_memory_format()));
  const T* in = x.const_data_ptr<T>();
  T* out = y.mutable_data_ptr<T>();
  const DepthwiseLoops<T>& loops = loopsOf<DepthwiseLoops<T>>();
  if (order == at::MemoryFormat::ChannelsLast) {
    const auto taps = byTap<T>(weight, false);
    at::parallel_for(0, s.batch * s.out_height, grain(18 * s.out_width * s.channels),
                     [&](int64_t begin, int64_t end) { loops.forward_nhwc(s, in, taps.data(), out, begin, end); });
  } else {
    const T* w = weight.const_data_ptr<T>();
    overPlanes<T>(
        s, s.batch * s.channels, 18 * s.out_height * s.out_width,
        [&](T* scratch, int64_t begin, int64_t end) { loops.forward_nchw(s, in, w, out, scratch, begin, end); });
  }
  return y;
}

/// gx from gy. x gives only the result's shape and layout.
template <typename T>
at::Tensor inputGrad(const at::Tensor& gy, const at::Tensor& weight, const DepthwiseShape& s, at::MemoryFormat order,
                     const at::Tensor& x) {
  at::Tensor gx = at::empty(x.sizes(), gy.options().memory_format(x.suggest_memory_format()));
  const T* in = gy.const_data_ptr<T>();
  T* out = gx.mutable_data_ptr<T>();
  const DepthwiseLoops<T>& loops = loopsOf<DepthwiseLoops<T>>();
  const int64_t row_flops = 18 * s.width * s.channels / s.stride;
  if (order == at::MemoryFormat::ChannelsLast && s.stride == 1) {
    const auto taps = byTap<T>(weight, true);
    at::parallel_for(0, s.batch * s.height, grain(row_flops),
                     [&](int64_t begin, int64_t end) { loops.forward_nhwc(s, in, taps.data(), out, begin, end); });
  } else if (order == at::MemoryFormat::ChannelsLast) {
    const auto taps = byTap<T>(weight, false);
    at::parallel_for(0, s.batch * s.height, grain(row_flops),
                     [&](int64_t begin, int64_t end) { loops.input_grad_nhwc(s, in, taps.data(), out, begin, end); });
  } else {
    const T* w = weight.const_data_ptr<T>();
    overPlanes<T>(
        s, s.batch * s.channels, 18 * s.out_height * s.out_width,
        [&](T* scratch, int64_t begin, int64_t end) { loops.input_grad_nchw(s, in, w, out, scratch, begin, end); });
  }
  return gx;
}

/// The weight's gradient [C, 1, 3, 3] in T.
template <typename T>
at::Tensor weightGrad(const at::Tensor& x, const at::Tensor& gy, const DepthwiseShape& s, at::MemoryFormat order) {
  at::Tensor gw = at::empty({s.channels, 1, 3, 3}, gy.options().memory_format(at::MemoryFormat::Contiguous));
  const T *in = x.const_data_ptr<T>(), *g = gy.const_data_ptr<T>();
  T* out = gw.mutable_data_ptr<T>();
  const DepthwiseLoops<T>& loops = loopsOf<DepthwiseLoops<T>>();
  const int64_t flops = 18 * s.batch * s.out_height * s.out_width;
  if (order == at::MemoryFormat::ChannelsLast) {
    // A thread takes a whole cache line of channels, so that threads do not share lines of x; it is a whole vector
    // too.
    constexpr int64_t kLine = 64 / sizeof(T);
    at::parallel_for(0, (s.channels + kLine - 1) / kLine, grain(kLine * flops), [&](int64_t begin, int64_t end) {
      loops.weight_grad_nhwc(s, in, g, out, kLine * begin, std::min(kLine * end, s.channels));
    });
  } else {
    overPlanes<T>(s, s.channels, flops, [&](T* scratch, int64_t begin, int64_t end) {
      loops.weight_grad_nchw(s, in, g, out, scratch, begin, end);
    });
  }
  return gw;
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The type in which sums are made: fp64 for fp64, fp32 for fp32 and bf16.
at::ScalarType arithmetic(const at::Tensor& x) { return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat; }

struct Depthwise : torch::autograd::Function<Depthwise> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
    RECORD_USER_SCOPE("forward of expc::kernels::Depthwise");
    const at::MemoryFormat order = orderOf(x);
    const at::Tensor input = x.contiguous(order);
    // Autocast would round the weight to the input's type; do so before widening it for the sums.
    const at::Tensor kernel = weight.to(x.scalar_type()).to(arithmetic(x)).contiguous();
    ctx->save_for_backward({input, kernel});
    ctx->saved_data["stride"] = stride;
    ctx->saved_data["weight_type"] = int64_t(weight.scalar_type());
    const at::Tensor wide = input.to(arithmetic(x));
    const DepthwiseShape shape = depthwiseShape(x, stride);
    const at::Tensor y = x.scalar_type() == at::kDouble ? kernels::forward<double>(wide, kernel, shape, order)
                                                        : kernels::forward<float>(wide, kernel, shape, order);
    return y.to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* ctx, variable_list gradients) {
    const int64_t stride = ctx->saved_data["stride"].toInt();
    return ctx->get_saved_variables()[0].scalar_type() == at::kDouble ? run<double>(ctx, gradients[0], stride)
                                                                      : run<float>(ctx, gradients[0], stride);
  }

  /// backward in T, the type of the sums.
  template <typename T>
  static variable_list run(AutogradContext* ctx, const at::Tensor& gradient, int64_t stride) {
    const auto saved = ctx->get_saved_variables();
    const at::Tensor &input = saved[0], &kernel = saved[1];
    const at::MemoryFormat order = orderOf(input);
    const DepthwiseShape shape = depthwiseShape(input, stride);
    const at::Tensor gy = gradient.contiguous(order).to(kernel.scalar_type());
    variable_list result(3);
    if (ctx->needs_input_grad(0)) result[0] = inputGrad<T>(gy, kernel, shape, order, input).to(input.scalar_type());
    if (ctx->needs_input_grad(1)) {
      const auto type = static_cast<at::ScalarType>(ctx->saved_data["weight_type"].toInt());
      result[1] = weightGrad<T>(input.to(kernel.scalar_type()), gy, shape, order).to(type);
    }
    return result;
  }
};

}  // namespace

bool servesDepthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride, int64_t padding,
                        int64_t groups) {
  if (!x.device().is_cpu() || x.dim() != 4 || x.numel() == 0 || padding != 1 || (stride != 1 && stride != 2))
    return false;
  if (weight.dim() != 4 || weight.size(0) != groups || x.size(1) != groups || weight.size(1) != 1) return false;
  if (weight.size(2) != 3 || weight.size(3) != 3) return false;
  switch (x.scalar_type()) {
    case at::kDouble:
      return weight.scalar_type() == at::kDouble;
    case at::kFloat:
    case at::kBFloat16:
      return weight.scalar_type() == at::kFloat || weight.scalar_type() == x.scalar_type();
    default:
      return false;
  }
}

bool fasterDepthwise3x3(const at::Tensor& x, int64_t stride) {
  // In fp32 torch has a fast NCHW path except for tiny planes; in bf16 its stride 1 is fast
  // (docs/layers/workloads.md).
  const bool tiny = x.size(2) * x.size(3) <= 4;
  switch (x.scalar_type()) {
    case at::kDouble:
      return true;
    case at::kFloat:
      return tiny || x.is_contiguous(at::MemoryFormat::ChannelsLast);
    default:
      return tiny || stride == 2;
  }
}

at::Tensor depthwise3x3(const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
  return Depthwise::apply(x, weight, stride);
}

}  // namespace expc::kernels
