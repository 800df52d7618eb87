#pragma once

// A batch norm inside a fused block: from sums over a tensor to what the loops apply, and back.

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "runtime/worker/kernels/block_pieces.h"
#include "runtime/worker/kernels/inverted_residual.h"

namespace expc::kernels {

struct Running {
  at::Tensor mean, variance;
};

/// Statistics and factors of one batch norm in training.
template <typename A>
class Norm {
 public:
  /// From a tensor's sums over n pixels; moves the running statistics.
  Norm(const Sums& sums, int64_t pixels, const at::Tensor& scale, const at::Tensor& shift, const Running& running,
       const NormOptions& options) {
    const int64_t channels = scale.numel(), padded = paddedChannels(channels);
    values_ = at::zeros({4, padded}, scale.options());
    A *mean = row(0), *inverse = row(1), *factor = row(2), *offset = row(3);
    A *moved_mean = running.mean.mutable_data_ptr<A>(), *moved_variance = running.variance.mutable_data_ptr<A>();
    const A *scales = scale.const_data_ptr<A>(), *shifts = shift.const_data_ptr<A>();
    const auto n = static_cast<double>(pixels);
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
  /// What saved() gave.
  explicit Norm(at::Tensor values) : values_(std::move(values)) {}

  const at::Tensor& saved() const { return values_; }
  const A* mean() const { return row(0); }
  const A* inverse() const { return row(1); }
  Affine<A> affine() const { return {row(2), row(3)}; }

 private:
  A* row(int64_t i) const { return static_cast<A*>(values_.data_ptr()) + i * values_.size(1); }
  at::Tensor values_;  // [mean, 1 / deviation, factor, offset][padded]
};

/// A batch norm's gradients.
template <typename A>
class NormGrad {
 public:
  /// sums: of g, and of g times the distance from the mean.
  NormGrad(const Sums& sums, int64_t pixels, const Norm<A>& norm, const at::Tensor& scale)
      : scale_(at::empty_like(scale)), shift_(at::empty_like(scale)) {
    const int64_t channels = scale.numel(), padded = paddedChannels(channels);
    values_ = at::zeros({3, padded}, scale.options());
    A *from_g = static_cast<A*>(values_.data_ptr()), *from_x = from_g + padded, *constant = from_x + padded;
    A *scale_grad = scale_.mutable_data_ptr<A>(), *shift_grad = shift_.mutable_data_ptr<A>();
    const A *mean = norm.mean(), *inverse = norm.inverse(), *factor = norm.affine().factor;
    const auto n = static_cast<double>(pixels);
    for (int64_t c = 0; c < channels; ++c) {
      const double sum = sums[c], with_x = sums[channels + c] * inverse[c];
      shift_grad[c] = static_cast<A>(sum);
      scale_grad[c] = static_cast<A>(with_x);
      const double slope = -static_cast<double>(factor[c]) * with_x * inverse[c] / n;
      from_g[c] = factor[c];
      from_x[c] = static_cast<A>(slope);
      constant[c] = static_cast<A>(-static_cast<double>(factor[c]) * sum / n - slope * mean[c]);
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
