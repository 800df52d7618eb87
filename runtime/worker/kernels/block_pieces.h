#pragma once

// How the blocks' loops are cut into pieces for threads. The cuts depend on shapes alone and pieces are added up in
// order, so that the number of threads changes no bit.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {

/// Two sums for each channel.
using Sums = std::vector<double>;

template <typename A>
struct Piece {
  int64_t index, begin, end;
  double* sums;
  A* scratch;  // on a cache line
};

/// [0, count) in pieces of `each`.
struct Cuts {
  int64_t count, each;
  int64_t pieces() const { return (count + each - 1) / each; }
};

/// At most 16 pieces, of 392 pixels or more: smaller ones would spend their time adding up weight gradients.
inline Cuts cutsOf(int64_t units, int64_t pixels_each, int64_t multiple) {
  constexpr int64_t kMost = 16, kSmallest = 392;
  const int64_t pieces = std::clamp<int64_t>(units * pixels_each / kSmallest, 1, kMost);
  const int64_t each = (units + pieces - 1) / pieces;
  return {units, std::min(units, (each + multiple - 1) / multiple * multiple)};
}
inline Cuts pixelCuts(int64_t pixels) { return cutsOf(pixels, 1, pixels >= 16 * 16 * kTilePixels ? kTilePixels : 1); }

/// Memory of this thread for `size` elements, kept from call to call.
void* threadScratch(size_t bytes);

inline Sums addedUp(Sums parts, int64_t width, int64_t pieces) {
  for (int64_t i = 1; i < pieces; ++i)
    for (int64_t j = 0; j < width; ++j) parts[j] += parts[i * width + j];
  parts.resize(static_cast<size_t>(width));
  return parts;
}

/// work(piece) for all pieces in parallel; returns their sums over `channels` channels.
template <typename A, typename Work>
Sums overPieces(const Cuts& cuts, int64_t channels, int64_t scratch, Work work) {
  const int64_t width = 2 * channels, pieces = cuts.pieces();
  Sums parts(static_cast<size_t>(pieces * width));
  at::parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    A* memory = static_cast<A*>(threadScratch(static_cast<size_t>(scratch) * sizeof(A)));
    for (int64_t i = begin; i < end; ++i)
      work(Piece<A>{i, i * cuts.each, std::min(cuts.count, (i + 1) * cuts.each), parts.data() + i * width, memory});
  });
  return addedUp(std::move(parts), width, pieces);
}

template <typename A, typename Work>
Sums overPixels(int64_t pixels, int64_t channels, int64_t scratch, Work work) {
  return overPieces<A>(pixelCuts(pixels), channels, scratch, work);
}
template <typename A, typename Work>
Sums overRows(int64_t rows, int64_t width, int64_t channels, int64_t scratch, Work work) {
  return overPieces<A>(cutsOf(rows, width, 1), channels, scratch, work);
}
/// work(first image, last, sums)
template <typename Work>
Sums overImages(int64_t images, int64_t channels, Work work) {
  return overPieces<float>(Cuts{images, (images + 15) / 16}, channels, 0,
                           [&](const Piece<float>& piece) { work(piece.begin, piece.end, piece.sums); });
}

/// A 1 x 1 convolution's weight gradient, one piece for each of overPixels'.
template <typename A>
class WeightGrad {
 public:
  WeightGrad(int64_t pixels, int64_t narrow, int64_t wide)
      : narrow_(narrow), wide_(wide), pieces_(pixelCuts(pixels).pieces()) {
    parts_ = at::empty({pieces_, gradSize(narrow, wide)}, at::TensorOptions(c10::CppTypeToScalarType<A>::value));
  }
  A* piece(int64_t index) const { return parts_.mutable_data_ptr<A>() + index * gradSize(narrow_, wide_); }

  /// All pieces as a gradient of `weight`: [narrow][wide] in memory, or [wide][narrow] if transposed.
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

/// A depthwise convolution's weight gradient, one piece for each of overRows'.
class TapsGrad {
 public:
  TapsGrad(int64_t rows, int64_t width, int64_t channels)
      : channels_(channels),
        pieces_(cutsOf(rows, width, 1).pieces()),
        parts_(static_cast<size_t>(pieces_ * 9 * paddedChannels(channels))) {}
  double* piece(int64_t index) { return parts_.data() + index * 9 * paddedChannels(channels_); }

  /// As a gradient of `weight` [C, 1, 3, 3].
  at::Tensor total(const at::Tensor& weight) const;

 private:
  int64_t channels_, pieces_;
  std::vector<double> parts_;
};

}  // namespace expc::kernels
