#pragma once

// Weights in 4-bit NormalFloat with quantised scales (QLoRA; Dettmers et al. 2023), bit for bit as torchao has them
// (docs/semantics.md §4). A value takes 0.516 bytes. kernels/elements.h has the arithmetic of one value.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::llama {

/// A weight [rows, columns], quantised in blocks of 64 values along its memory and groups of 256 blocks. All
/// arithmetic was done in `type`, the type of the weight that it was made from: another type gives other bits.
struct Nf4 {
  static constexpr int64_t kBlock = 64;
  static constexpr int64_t kGroup = 256;  // blocks that share a factor
  /// The number of values of a weight must be a multiple of this.
  static constexpr int64_t kUnit = kBlock * kGroup;

  at::Tensor packed;   // uint8 [n / 2]: two codes a byte, the first in the high half
  at::Tensor scales;   // int8 [n / 64]
  at::Tensor factors;  // `type` [n / 16384]: the factors that centred scales were multiplied with
  at::Tensor mean;     // `type`, scalar: the mean of all scales before they were quantised
  int64_t rows = 0, columns = 0;

  bool defined() const { return packed.defined(); }
  at::ScalarType type() const { return mean.scalar_type(); }
  /// Bytes of all that is stored.
  int64_t bytes() const;
  /// A copy on a device. One without values (describeNf4) gets uninitialised memory.
  Nf4 to(at::Device device) const;
};

/// Quantises a weight on the CPU whose number of values is a multiple of Nf4::kUnit. The format does not support a
/// weight whose blocks all have the same scale: its factor is infinite and its values come out as NaN.
Nf4 quantizeNf4(const at::Tensor& weight);

// Quantisation in parts, for a rank that has only some blocks of a weight.

/// The types and shapes that a weight [rows, columns] of `type` is quantised to, without values (at::kMeta).
Nf4 describeNf4(int64_t rows, int64_t columns, at::ScalarType type);
/// The largest magnitude of each block of `values`, which are whole blocks of a weight; a block's unquantised scale.
at::Tensor largestOfBlocks(const at::Tensor& values);
/// Writes the codes of `values` into `packed` [values / 2].
void packNf4(const at::Tensor& values, const at::Tensor& largest, const at::Tensor& packed);
/// Sets scales, factors and mean from the largest magnitudes of all blocks of a weight.
void scaleNf4(const at::Tensor& largest, Nf4& weight);

/// The matrix [rows, columns], dequantised in the type that it was quantised in and then cast. On a device it is one
/// launch, for which the program must have the device's loops (kernels/decoder_loops.h); throws if it has not.
at::Tensor dequantize(const Nf4& weight, at::ScalarType as);

}  // namespace expc::llama
