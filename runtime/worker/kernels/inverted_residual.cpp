// A MobileNetV2 block as one autograd node: the order of passes, their tensors, and the batch norms between them. The
// passes themselves are loops over plain memory (inverted_residual_loops.h); block_pieces.h cuts them for threads.
//
// A batch norm needs sums over its whole tensor before any value can be normalised. So each pass ends where sums are
// complete, and a block has four passes forward and four backward. Between passes only the convolutions' raw outputs
// z1, z2, z3 and their gradients g2, g1 exist in memory.

#include "runtime/worker/kernels/inverted_residual.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/custom_function.h>

#include <tuple>
#include <utility>

#include "runtime/worker/kernels/block_pieces.h"
#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// torch's type for tensors stored in S.
template <typename S>
constexpr at::ScalarType kType = at::kFloat;
template <>
constexpr at::ScalarType kType<double> = at::kDouble;
template <>
constexpr at::ScalarType kType<Bf16> = at::kBFloat16;

/// A tensor's memory as S; null for an undefined tensor, which stands for an argument that is left out.
template <typename S>
const S* read(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<const S*>(tensor.const_data_ptr()) : nullptr;
}
template <typename S>
S* write(const at::Tensor& tensor) {
  return static_cast<S*>(tensor.mutable_data_ptr());
}

/// The weight as products take it: channels-last, in the type A of sums, but with bf16's values where tensors are
/// stored in bf16, as autocast rounds weights.
template <typename S>
at::Tensor rounded(const at::Tensor& weight) {
  const at::Tensor own = weight.detach().contiguous(at::MemoryFormat::ChannelsLast);
  return kType<S> == at::kBFloat16 ? own.to(at::kBFloat16).to(at::kFloat) : own;
}

/// Packs the matrix b[k][n], which lies at weight[k row + n column], into the panels that multiply() reads. Packed
/// for each pass: a step changes the weights, and it is little beside a pass.
template <typename S>
at::Tensor packed(const at::Tensor& weight, int64_t row, int64_t column, int64_t k, int64_t n) {
  using A = typename Number<S>::Wide;
  const at::Tensor values = rounded<S>(weight);
  const BlockLoops<S>& loops = loopsOf<BlockLoops<S>>();
  at::Tensor to = at::empty({loops.packed_size(k, n)}, values.options().memory_format(at::MemoryFormat::Contiguous));
  loops.pack(read<A>(values), row, column, k, n, write<A>(to));
  return to;
}

/// A depthwise weight [C, 1, 3, 3] as [9][padded C].
template <typename S>
at::Tensor tapsOf(const at::Tensor& weight) {
  const int64_t channels = weight.size(0);
  const at::Tensor values = rounded<S>(weight).reshape({channels, 9});
  at::Tensor taps = at::zeros({9, paddedChannels(channels)}, values.options());
  taps.narrow(1, 0, channels).copy_(values.t());
  return taps;
}

/// An uninitialised channels-last tensor stored in S.
template <typename S>
at::Tensor images(const at::Tensor& like, at::IntArrayRef sizes) {
  return at::empty(sizes, like.options().dtype(kType<S>).memory_format(at::MemoryFormat::ChannelsLast));
}

/// True if a tensor is too large to stay in the caches until it is read, so stores should go past them.
bool pastCaches(const at::Tensor& x) { return x.nbytes() > kCachedBytes; }

int64_t pixelsOf(const at::Tensor& x) { return x.size(0) * x.size(2) * x.size(3); }

/// The arguments of a block that are no tensors with a gradient.
struct BlockSettings {
  Running first, second, third;
  int64_t stride;
  bool skip, image;  // image: the first convolution of the network takes the expansion's place
  NormOptions options;
};

/// Sizes of the network's first convolution of x. It is not depthwise, but has the same window, and stride 2;
/// `channels` are its output's.
DepthwiseShape firstShape(const at::Tensor& x, int64_t channels) {
  DepthwiseShape shape = depthwiseShape(x, 2);
  shape.channels = channels;
  return shape;
}

/// The passes of a block whose tensors are stored in S.
template <typename S>
struct BlockPasses {
  using A = typename Number<S>::Wide;

  /// `p` are the nine parameters: weight, scale and shift of each of the three convolutions. Saves for backward what
  /// it reads again; the order there is that of save_for_backward.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList p,
                            const BlockSettings& settings) {
    ctx->saved_data["stride"] = settings.stride;
    ctx->saved_data["skip"] = settings.skip;
    ctx->saved_data["image"] = settings.image;
    const BlockLoops<S>& loops = loopsOf<BlockLoops<S>>();
    const int64_t in = x.size(1), hidden = p[0].size(0), out = p[6].size(0);
    // First pass: z1 = x w1 and its sums. The image's convolution is a product too, over windows of 27 values.
    at::Tensor z1;
    Sums sums;
    if (settings.image) {
      const DepthwiseShape s = firstShape(x, hidden);
      const at::Tensor w = packed<S>(p[0], 1, 27, 27, hidden);
      z1 = images<S>(x, {s.batch, hidden, s.out_height, s.out_width});
      sums = overPixels<A>(pixelsOf(z1), hidden, blockScratchSize(27, hidden, s), [&](const Piece<A>& piece) {
        loops.first(s, read<S>(x), read<A>(w), write<S>(z1), piece.sums, piece.begin, piece.end, piece.scratch);
      });
    } else {
      std::tie(z1, sums) = expand(x, p[0], settings.stride);
    }
    const Norm<A> norm1(sums, pixelsOf(z1), p[1], p[2], settings.first, settings.options);

    // Second pass: z2 = depthwise(ReLU6(norm1(z1))).
    const DepthwiseShape s = depthwiseShape(z1, settings.stride);
    const int64_t scratch = blockScratchSize(std::max(in, out), hidden, s);
    const at::Tensor taps = tapsOf<S>(p[3]);
    const at::Tensor z2 = images<S>(x, {s.batch, hidden, s.out_height, s.out_width});
    sums = overRows<A>(s.batch * s.out_height, s.out_width, hidden, scratch, [&](const Piece<A>& piece) {
      loops.depthwise(s, read<S>(z1), norm1.affine(), read<A>(taps), write<S>(z2), piece.sums, piece.begin, piece.end,
                      piece.scratch);
    });
    const Norm<A> norm2(sums, pixelsOf(z2), p[4], p[5], settings.second, settings.options);

    // Third pass: z3 = ReLU6(norm2(z2)) w3.
    const at::Tensor w3 = packed<S>(p[6], 1, hidden, hidden, out);
    const at::Tensor z3 = images<S>(x, {s.batch, out, s.out_height, s.out_width});
    sums = overPixels<A>(pixelsOf(z3), out, scratch, [&](const Piece<A>& piece) {
      loops.project(read<S>(z2), hidden, norm2.affine(), read<A>(w3), out, write<S>(z3), piece.sums, piece.begin,
                    piece.end, piece.scratch);
    });
    const Norm<A> norm3(sums, pixelsOf(z3), p[7], p[8], settings.third, settings.options);

    // Last pass: y = norm3(z3), plus x for the skip. It waits for norm3's sums, and has none of its own.
    const at::Tensor y = images<S>(x, z3.sizes());
    overPixels<A>(pixelsOf(z3), 0, 0, [&](const Piece<A>& piece) {
      loops.finish(read<S>(z3), settings.skip ? read<S>(x) : nullptr, out, norm3.affine(), write<S>(y), piece.begin,
                   piece.end);
    });
    ctx->save_for_backward(
        {x, z1, z2, z3, p[0], p[1], p[3], p[4], p[6], p[7], norm1.saved(), norm2.saved(), norm3.saved()});
    return y;
  }

  /// The expansion's pass, which the network's last convolution shares: x w and its sums.
  static std::pair<at::Tensor, Sums> expand(const at::Tensor& x, const at::Tensor& weight, int64_t stride) {
    const int64_t in = x.size(1), hidden = weight.size(0);
    const at::Tensor w = packed<S>(weight, 1, in, in, hidden),
                     z = images<S>(x, {x.size(0), hidden, x.size(2), x.size(3)});
    const int64_t scratch = blockScratchSize(in, hidden, depthwiseShape(z, stride));
    const Sums sums = overPixels<A>(pixelsOf(z), hidden, scratch, [&](const Piece<A>& piece) {
      loopsOf<BlockLoops<S>>().expand(read<S>(x), in, read<A>(w), hidden, write<S>(z), piece.sums, piece.begin,
                                      piece.end, pastCaches(z), piece.scratch);
    });
    return {z, sums};
  }

  /// Gradients of x and of the nine parameters, in forward's order. Passes go from y back to x; each makes the sums
  /// that the next batch norm's gradient needs.
  static variable_list backward(AutogradContext* ctx, const variable_list& saved, const at::Tensor& gradient) {
    const int64_t stride = ctx->saved_data["stride"].toInt();
    const BlockLoops<S>& loops = loopsOf<BlockLoops<S>>();
    const at::Tensor &x = saved[0], &z1 = saved[1], &z2 = saved[2], &z3 = saved[3], &w1 = saved[4], &w2 = saved[6],
                     &w3 = saved[8];
    const Norm<A> norm1(saved[10]), norm2(saved[11]), norm3(saved[12]);
    const int64_t in = x.size(1), hidden = z1.size(1), out = z3.size(1);
    const DepthwiseShape s = depthwiseShape(z1, stride);
    const int64_t scratch = blockScratchSize(std::max<int64_t>({in, out, 27}), hidden, s);
    const at::Tensor gy = gradient.contiguous(at::MemoryFormat::ChannelsLast);
    variable_list result(10);

    // norm3's gradient needs its two sums before anything can flow on: a pass that only reads.
    Sums sums = overPixels<A>(pixelsOf(z3), out, 0, [&](const Piece<A>& piece) {
      loops.grad_sums(read<S>(gy), read<S>(z3), out, norm3.mean(), piece.sums, piece.begin, piece.end);
    });
    const NormGrad<A> back3(sums, pixelsOf(z3), norm3, saved[9]);
    result[8] = back3.scale();
    result[9] = back3.shift();

    // Projection: from gy to g2 and w3's gradient. The scope frees the packed weight and the pieces before the next
    // pass.
    const at::Tensor g2 = images<S>(x, z2.sizes());
    {
      const at::Tensor w = packed<S>(w3, hidden, 1, out, hidden);
      WeightGrad<A> grad(pixelsOf(z2), out, hidden);
      sums = overPixels<A>(pixelsOf(z2), hidden, scratch, [&](const Piece<A>& piece) {
        loops.project_grad(read<S>(gy), read<S>(z3), out, back3.affine(), read<S>(z2), hidden, norm2.affine(),
                           norm2.mean(), read<A>(w), write<S>(g2), piece.sums, grad.piece(piece.index), piece.begin,
                           piece.end, pastCaches(g2), piece.scratch);
      });
      result[7] = grad.total(w3, /*transposed=*/false);
    }
    const NormGrad<A> back2(sums, pixelsOf(z2), norm2, saved[7]);
    result[5] = back2.scale();
    result[6] = back2.shift();

    // Depthwise: from g2 to g1 and the taps' gradient.
    const at::Tensor g1 = images<S>(x, z1.sizes());
    {
      const at::Tensor taps = tapsOf<S>(w2);
      TapsGrad grad(s.batch * s.height, s.width, hidden);
      sums = overRows<A>(s.batch * s.height, s.width, hidden, scratch, [&](const Piece<A>& piece) {
        loops.depthwise_grad(s, read<S>(g2), read<S>(z2), back2.affine(), read<S>(z1), norm1.affine(), norm1.mean(),
                             read<A>(taps), write<S>(g1), piece.sums, grad.piece(piece.index), piece.begin, piece.end,
                             piece.scratch);
      });
      result[4] = grad.total(w2);
    }
    const NormGrad<A> back1(sums, pixelsOf(z1), norm1, saved[5]);
    result[2] = back1.scale();
    result[3] = back1.shift();

    // First convolution: x's gradient (not for images) and w1's.
    if (ctx->saved_data["image"].toBool()) {
      const DepthwiseShape first = firstShape(x, hidden);
      WeightGrad<A> grad(pixelsOf(z1), 27, hidden);
      overPixels<A>(pixelsOf(z1), 0, scratch, [&](const Piece<A>& piece) {
        loops.first_grad(first, read<S>(g1), read<S>(z1), back1.affine(), read<S>(x), grad.piece(piece.index),
                         piece.begin, piece.end, piece.scratch);
      });
      result[1] = grad.total(w1, /*transposed=*/true);
      return result;
    }
    expandBackward(g1, z1, back1, x, w1, ctx->saved_data["skip"].toBool() ? gy : at::Tensor(), ctx->needs_input_grad(0),
                   scratch, result);
    return result;
  }

  /// The expansion's backward pass, which the network's last convolution shares. Fills result[0] (x's gradient, if
  /// wanted, with the skip's gradient added) and result[1] (the weight's).
  static void expandBackward(const at::Tensor& g1, const at::Tensor& z1, const NormGrad<A>& back, const at::Tensor& x,
                             const at::Tensor& weight, const at::Tensor& skip, bool wants_x, int64_t scratch,
                             variable_list& result) {
    const int64_t in = x.size(1), hidden = z1.size(1);
    const at::Tensor w = packed<S>(weight, in, 1, hidden, in);
    if (wants_x) result[0] = images<S>(x, x.sizes());
    WeightGrad<A> grad(pixelsOf(x), in, hidden);
    overPixels<A>(pixelsOf(x), 0, scratch, [&](const Piece<A>& piece) {
      loopsOf<BlockLoops<S>>().expand_grad(read<S>(g1), read<S>(z1), hidden, back.affine(), read<S>(x), in, read<A>(w),
                                           read<S>(skip), wants_x ? write<S>(result[0]) : nullptr,
                                           grad.piece(piece.index), piece.begin, piece.end, piece.scratch);
    });
    result[1] = grad.total(weight, /*transposed=*/true);
  }
};

struct LastSettings {
  Running running;
  NormOptions options;
};

/// The network's last convolution with the mean over pixels, for tensors stored in S.
template <typename S>
struct LastPasses {
  using A = typename Number<S>::Wide;

  /// `p` are the convolution's weight, scale and shift.
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList p, const LastSettings& settings) {
    const int64_t channels = p[0].size(0);
    const auto [z, sums] = BlockPasses<S>::expand(x, p[0], 1);
    const Norm<A> norm(sums, pixelsOf(x), p[1], p[2], settings.running, settings.options);
    const at::Tensor pooled = at::empty({x.size(0), channels}, x.options().memory_format(at::MemoryFormat::Contiguous));
    overImages(x.size(0), 0, [&](int64_t begin, int64_t end, double*) {
      loopsOf<BlockLoops<S>>().pool(read<S>(z), x.size(2) * x.size(3), channels, norm.affine(), write<S>(pooled), begin,
                                    end);
    });
    ctx->save_for_backward({x, z, p[0], p[1], norm.saved()});
    return pooled;
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& saved, const at::Tensor& gradient) {
    const at::Tensor &x = saved[0], &z = saved[1];
    const Norm<A> norm(saved[4]);
    const int64_t in = x.size(1), channels = z.size(1);
    const at::Tensor pooled_grad = gradient.contiguous(), g = images<S>(x, z.sizes());
    // The gradient of the mean, spread over an image's pixels, masked by ReLU6 and summed in one pass.
    const Sums sums = overImages(x.size(0), channels, [&](int64_t begin, int64_t end, double* sums) {
      loopsOf<BlockLoops<S>>().pool_grad(read<S>(pooled_grad), read<S>(z), x.size(2) * x.size(3), channels,
                                         norm.affine(), norm.mean(), write<S>(g), sums, begin, end);
    });
    const NormGrad<A> back(sums, pixelsOf(x), norm, saved[3]);
    variable_list result(4);
    result[2] = back.scale();
    result[3] = back.shift();
    BlockPasses<S>::expandBackward(g, z, back, x, saved[2], {}, ctx->needs_input_grad(0),
                                   blockScratchSize(in, channels, depthwiseShape(z, 1)), result);
    return result;
  }
};

/// Calls work with a value of the type that tensors are stored in.
template <typename Work>
auto byType(at::ScalarType type, Work work) {
  if (type == at::kDouble) return work(double{});
  if (type == at::kBFloat16) return work(Bf16{});
  return work(float{});
}

/// The autograd node Node of Passes. Types are chosen here: Passes get x and gradients in the type that tensors are
/// stored in, and x's gradient is returned in the type in which x came.
template <typename Node, template <typename> class Passes>
struct FunctionOf : torch::autograd::Function<Node> {
  template <typename Settings>
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, at::TensorList parameters,
                            const Settings& settings, at::ScalarType type) {
    RECORD_USER_SCOPE(Node::kForward);
    ctx->saved_data["input_type"] = int64_t(x.scalar_type());
    const at::Tensor stored = x.to(type).contiguous(at::MemoryFormat::ChannelsLast);
    return byType(type, [&](auto as) { return Passes<decltype(as)>::forward(ctx, stored, parameters, settings); });
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto saved = ctx->get_saved_variables();
    const at::ScalarType type = saved[1].scalar_type();
    variable_list result =
        byType(type, [&](auto as) { return Passes<decltype(as)>::backward(ctx, saved, gradients[0].to(type)); });
    if (result[0].defined())
      result[0] = result[0].to(static_cast<at::ScalarType>(ctx->saved_data["input_type"].toInt()));
    // One result for each of forward's arguments; settings and type have none.
    result.resize(result.size() + 2);
    return result;
  }
};

struct BlockFunction : FunctionOf<BlockFunction, BlockPasses> {
  static constexpr auto kForward = "forward of expc::kernels::BlockFunction";
};
struct LastFunction : FunctionOf<LastFunction, LastPasses> {
  static constexpr auto kForward = "forward of expc::kernels::LastFunction";
};

Running runningOf(const ConvNormTensors& layer) { return {layer.mean, layer.variance}; }

at::Tensor block(const at::Tensor& x, const ConvNormTensors& a, const ConvNormTensors& b, const ConvNormTensors& c,
                 const BlockSettings& settings) {
  const variable_list parameters{a.weight, a.scale, a.shift, b.weight, b.scale, b.shift, c.weight, c.scale, c.shift};
  return BlockFunction::apply(x, at::TensorList(parameters), settings, storedType(a.weight.scalar_type()));
}

}  // namespace

at::ScalarType storedType(at::ScalarType type) {
  return at::autocast::is_autocast_enabled(at::kCPU) ? at::autocast::get_autocast_dtype(at::kCPU) : type;
}

bool servesBlocks(const at::Tensor& x, at::ScalarType type) {
  if (!x.device().is_cpu() || x.dim() != 4 || x.numel() == 0) return false;
  if (!x.is_contiguous(at::MemoryFormat::ChannelsLast)) return false;
  // Parameters are never stored in bf16: autocast keeps them in fp32 and rounds copies.
  const at::ScalarType stored = storedType(type);
  if (type == at::kDouble) return stored == at::kDouble && x.scalar_type() == at::kDouble;
  if (type != at::kFloat) return false;
  return (stored == at::kFloat && x.scalar_type() == at::kFloat) ||
         (stored == at::kBFloat16 && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16));
}

at::Tensor invertedResidual(const at::Tensor& x, const ConvNormTensors& expand, const ConvNormTensors& depthwise,
                            const ConvNormTensors& project, int64_t stride, bool skip, const NormOptions& options) {
  return block(x, expand, depthwise, project,
               {runningOf(expand), runningOf(depthwise), runningOf(project), stride, skip, false, options});
}

at::Tensor firstBlocks(const at::Tensor& images, const ConvNormTensors& first, const ConvNormTensors& depthwise,
                       const ConvNormTensors& project, const NormOptions& options) {
  return block(images, first, depthwise, project,
               {runningOf(first), runningOf(depthwise), runningOf(project), 1, false, true, options});
}

at::Tensor lastPooled(const at::Tensor& x, const ConvNormTensors& last, const NormOptions& options) {
  return LastFunction::apply(x, at::TensorList({last.weight, last.scale, last.shift}),
                             LastSettings{runningOf(last), options}, storedType(last.weight.scalar_type()));
}

}  // namespace expc::kernels
