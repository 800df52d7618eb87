#pragma once

// Cuts the tensors of a fused block into pieces for threads, and turns sums over a tensor into a batch norm's
// factors. The cuts depend on shapes alone, each piece has sums of its own, and pieces are added up in order: so the
// number of threads changes no bit. inverted_residual.cpp puts the pieces and the loops together.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "runtime/worker/kernels/conv_norm.h"
#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {

/// Sizes of the depthwise 3 x 3 convolution of x [B, C, H, W] with padding 1.
inline DepthwiseShape depthwiseShape(const at::Tensor& x, int64_t stride) {
  const int64_t h = x.size(2), w = x.size(3);
  return {x.size(0), x.size(1), h, w, (h - 1) / stride + 1, (w - 1) / stride + 1, stride};
}

/// Two sums for each channel, [2][channels]. In double, because they run over all pixels of a batch.
using Sums = std::vector<double>;

/// A piece's share of a pass: units [begin, end), its own sums [2][channels], and its thread's scratch memory.
template <typename A>
struct Piece {
  int64_t index, begin, end;
  double* sums;
  A* scratch;  // starts on a cache line
};

/// [0, count) in pieces of `each` units; the last may be shorter.
struct Cuts {
  int64_t count, each;
  int64_t pieces() const { return (count + each - 1) / each; }
};

/// Cuts of `units` units with `pixels_each` pixels: at most 16 pieces, of at least 392 pixels, because smaller ones
/// would spend their time adding up weight gradients. `each` is a multiple of `multiple`.
inline Cuts cutsOf(int64_t units, int64_t pixels_each, int64_t multiple) {
  constexpr int64_t kMost = 16, kSmallest = 392;
  const int64_t pieces = std::clamp<int64_t>(units * pixels_each / kSmallest, 1, kMost);
  const int64_t each = (units + pieces - 1) / pieces;
  return {units, std::min(units, (each + multiple - 1) / multiple * multiple)};
}
/// Cuts of pixels. Large tensors are cut between tiles, so that only the last tile is short; for small ones that
/// would leave threads without work.
inline Cuts pixelCuts(int64_t pixels) { return cutsOf(pixels, 1, pixels >= 16 * 16 * kTilePixels ? kTilePixels : 1); }

/// This thread's memory of at least `bytes`, on a cache line, kept from call to call and freed with the thread. Its
/// content is undefined. Throws std::bad_alloc.
void* threadScratch(size_t bytes);

/// parts [pieces][width] added up in order, as [width].
inline Sums addedUp(Sums parts, int64_t width, int64_t pieces) {
  for (int64_t i = 1; i < pieces; ++i)
    for (int64_t j = 0; j < width; ++j) parts[j] += parts[i * width + j];
  parts.resize(size_t(width));
  return parts;
}

/// Calls work(Piece) for all pieces in parallel. Returns the pieces' sums over `channels` channels, added in order;
/// with 0 channels nothing is summed. `scratch` is in elements of A.
template <typename A, typename Work>
Sums overPieces(const Cuts& cuts, int64_t channels, int64_t scratch, Work work) {
  const int64_t width = 2 * channels, pieces = cuts.pieces();
  Sums parts(size_t(pieces * width));
  at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    A* memory = static_cast<A*>(threadScratch(size_t(scratch) * sizeof(A)));
    for (int64_t i = begin; i < end; ++i)
      work(Piece<A>{i, i * cuts.each, std::min(cuts.count, (i + 1) * cuts.each), parts.data() + i * width, memory});
  });
  return addedUp(std::move(parts), width, pieces);
}

/// overPieces() over pixels, rows (of `width` pixels) or whole images. These cuts decide the bits, so forward and
/// backward passes that share pieces must use the same one.
template <typename A, typename Work>
Sums overPixels(int64_t pixels, int64_t channels, int64_t scratch, Work work) {
  return overPieces<A>(pixelCuts(pixels), channels, scratch, work);
}
template <typename A, typename Work>
Sums overRows(int64_t rows, int64_t width, int64_t channels, int64_t scratch, Work work) {
  return overPieces<A>(cutsOf(rows, width, 1), channels, scratch, work);
}
/// Calls work(first image, last, sums).
template <typename Work>
Sums overImages(int64_t images, int64_t channels, Work work) {
  return overPieces<float>(Cuts{images, (images + 15) / 16}, channels, 0,
                           [&](const Piece<float>& piece) { work(piece.begin, piece.end, piece.sums); });
}

/// The weight gradient of a 1 x 1 convolution between `narrow` and `wide` channels. Each of overPixels' pieces adds
/// up its own matrix (gradSize() elements), because threads must not share one; total() adds them.
template <typename A>
class WeightGrad {
 public:
  WeightGrad(int64_t pixels, int64_t narrow, int64_t wide)
      : narrow_(narrow), wide_(wide), pieces_(pixelCuts(pixels).pieces()) {
    parts_ = at::empty({pieces_, gradSize(narrow, wide)}, at::TensorOptions(c10::CppTypeToScalarType<A>::value));
  }
  /// The matrix of a piece; the loops clear it before they add.
  A* piece(int64_t index) const { return parts_.mutable_data_ptr<A>() + index * gradSize(narrow_, wide_); }

  /// The sum of all pieces with `weight`'s shape and type: [narrow][wide] in memory, or [wide][narrow] if transposed.
  at::Tensor total(const at::Tensor& weight, bool transposed) const {
    at::Tensor to = at::empty_like(weight, weight.options().memory_format(at::MemoryFormat::ChannelsLast));
    A* out = to.mutable_data_ptr<A>();
    const int64_t pitch = pitchOf(wide_), size = gradSize(narrow_, wide_);
    const A* parts = parts_.const_data_ptr<A>();
    at::parallel_for(0, narrow_, std::max<int64_t>(1, 32768 / (wide_ * pieces_)), [&](int64_t begin, int64_t end) {
      std::vector<A> row(static_cast<size_t>(wide_));
      for (int64_t i = begin; i < end; ++i) {
        std::copy_n(parts + i * pitch, wide_, row.data());
        for (int64_t k = 1; k < pieces_; ++k)
          for (int64_t j = 0; j < wide_; ++j) row[j] += parts[k * size + i * pitch + j];
        for (int64_t j = 0; j < wide_; ++j) out[transposed ? j * narrow_ + i : i * wide_ + j] = row[j];
      }
    });
    return to;
  }

 private:
  int64_t narrow_, wide_, pieces_;
  at::Tensor parts_;
};

/// The weight gradient of a depthwise convolution, in double; each of overRows' pieces adds up its own [9][padded].
class TapsGrad {
 public:
  TapsGrad(int64_t rows, int64_t width, int64_t channels)
      : channels_(channels),
        pieces_(cutsOf(rows, width, 1).pieces()),
        parts_(size_t(pieces_ * 9 * paddedChannels(channels))) {}
  double* piece(int64_t index) { return parts_.data() + index * 9 * paddedChannels(channels_); }

  /// The sum of all pieces as a gradient of `weight` [C, 1, 3, 3], in its type.
  at::Tensor total(const at::Tensor& weight) const;

 private:
  int64_t channels_, pieces_;
  std::vector<double> parts_;
};

// A batch norm inside a fused block. A pass sums over a tensor, then these classes make of the sums what the next
// pass applies to each value.

/// Running statistics of a batch norm, written in place.
struct Running {
  at::Tensor mean, variance;
};

/// Statistics and factors of one batch norm in training, padded with zeros to whole vectors (paddedChannels).
template <typename A>
class Norm {
 public:
  /// Makes statistics and factors of the sums of x and x^2 over `pixels` pixels, and moves the running statistics by
  /// `momentum` towards the mean and the unbiased variance; for that there must be more than one pixel. E[x^2] -
  /// E[x]^2 is safe: the loops sum around a pivot, and in double (block_base.inc).
  Norm(const Sums& sums, int64_t pixels, const at::Tensor& scale, const at::Tensor& shift, const Running& running,
       const NormOptions& options) {
    const int64_t channels = scale.numel(), padded = paddedChannels(channels);
    values_ = at::zeros({4, padded}, scale.options());
    A *mean = row(0), *inverse = row(1), *factor = row(2), *offset = row(3);
    A *moved_mean = running.mean.mutable_data_ptr<A>(), *moved_variance = running.variance.mutable_data_ptr<A>();
    const A *scales = scale.const_data_ptr<A>(), *shifts = shift.const_data_ptr<A>();
    const auto n = double(pixels);
    for (int64_t c = 0; c < channels; ++c) {
      const double m = sums[c] / n, variance = std::max(0.0, sums[channels + c] / n - m * m);
      const double inv = 1 / std::sqrt(variance + options.epsilon);
      mean[c] = static_cast<A>(m);
      inverse[c] = static_cast<A>(inv);
      factor[c] = static_cast<A>(scales[c] * inv);
      offset[c] = static_cast<A>(shifts[c] - m * scales[c] * inv);
      moved_mean[c] = static_cast<A>((1 - options.momentum) * moved_mean[c] + options.momentum * m);
      moved_variance[c] =
          static_cast<A>((1 - options.momentum) * moved_variance[c] + options.momentum * variance * n / (n - 1));
    }
  }
  /// Restores a norm from what saved() returned, in a backward pass.
  explicit Norm(at::Tensor values) : values_(std::move(values)) {}

  const at::Tensor& saved() const { return values_; }
  const A* mean() const { return row(0); }
  const A* inverse() const { return row(1); }
  /// x factor + offset, as the loops apply it.
  Affine<A> affine() const { return {row(2), row(3)}; }

 private:
  A* row(int64_t i) const { return static_cast<A*>(values_.data_ptr()) + i * values_.size(1); }
  at::Tensor values_;  // [mean, 1 / deviation, factor, offset][padded]
};

/// The gradients of a batch norm: those of scale and shift, and what the loops apply to get x's.
template <typename A>
class NormGrad {
 public:
  /// Makes gradients and factors of the sums of g and of g (x - mean) over all pixels.
  ///
  /// With inverse = 1 / deviation, gx = factor (g - sum(g) / n - (x - mean) inverse^2 sum(g (x - mean)) / n), written
  /// as from_g g + from_x x + constant so that a loop needs two multiplications and two additions for a value.
  NormGrad(const Sums& sums, int64_t pixels, const Norm<A>& norm, const at::Tensor& scale)
      : scale_(at::empty_like(scale)), shift_(at::empty_like(scale)) {
    const int64_t channels = scale.numel(), padded = paddedChannels(channels);
    values_ = at::zeros({3, padded}, scale.options());
    A *from_g = static_cast<A*>(values_.data_ptr()), *from_x = from_g + padded, *constant = from_x + padded;
    A *scale_grad = scale_.mutable_data_ptr<A>(), *shift_grad = shift_.mutable_data_ptr<A>();
    const A *mean = norm.mean(), *inverse = norm.inverse(), *factor = norm.affine().factor;
    const auto n = double(pixels);
    for (int64_t c = 0; c < channels; ++c) {
      const double sum = sums[c], with_x = sums[channels + c] * inverse[c];
      shift_grad[c] = static_cast<A>(sum);
      scale_grad[c] = static_cast<A>(with_x);
      const double slope = -double(factor[c]) * with_x * inverse[c] / n;
      from_g[c] = factor[c];
      from_x[c] = static_cast<A>(slope);
      constant[c] = static_cast<A>(-double(factor[c]) * sum / n - slope * mean[c]);
    }
  }
  AffineGrad<A> affine() const {
    const A* first = static_cast<const A*>(values_.const_data_ptr());
    return {first, first + values_.size(1), first + 2 * values_.size(1)};
  }
  const at::Tensor& scale() const { return scale_; }
  const at::Tensor& shift() const { return shift_; }

 private:
  at::Tensor scale_, shift_, values_;
};

}  // namespace expc::kernels
