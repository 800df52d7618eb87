#pragma once

// Weights in 4-bit NormalFloat with quantised scales, bit for bit as torchao has them (docs/semantics.md §4).

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace expc::llama {

/// A weight [rows, columns] in blocks of 64 values along its memory, and groups of 256 blocks. All arithmetic that made
/// it was in `type`, the type of the weight it was made from.
struct Nf4 {
  static constexpr int64_t kBlock = 64;
  static constexpr int64_t kGroup = 256;  // blocks
  static constexpr int64_t kUnit = kBlock * kGroup;

  at::Tensor packed;   // uint8 [n / 2]: two codes, the first in the high half
  at::Tensor scales;   // int8 [n / 64]
  at::Tensor factors;  // `type` [n / 16384]: what a block's scale was multiplied with
  at::Tensor mean;     // `type`, scalar: of all scales, before they were quantised
  int64_t rows = 0, columns = 0;

  bool defined() const { return packed.defined(); }
  at::ScalarType type() const { return mean.scalar_type(); }
  /// Of all that is stored.
  int64_t bytes() const;
  /// The same on a device; of one without values (describeNf4) as memory is found.
  Nf4 to(at::Device device) const;
};

/// Of a weight on the CPU whose number of values is a multiple of Nf4::kUnit. One whose blocks all have the same scale
/// is not supported by the format: its values come out as not-a-number.
Nf4 quantizeNf4(const at::Tensor& weight);

// The same in parts, for those who have some blocks of a weight only.

/// Types and shapes of what a weight [rows, columns] of `type` becomes, without values (at::kMeta).
Nf4 describeNf4(int64_t rows, int64_t columns, at::ScalarType type);
/// The largest magnitude of each block of `values`, which are whole blocks of a weight.
at::Tensor largestOfBlocks(const at::Tensor& values);
/// Their codes, into `packed` [values / 2].
void packNf4(const at::Tensor& values, const at::Tensor& largest, const at::Tensor& packed);
/// All but the codes, from the largest magnitudes of all blocks of a weight.
void scaleNf4(const at::Tensor& largest, Nf4& weight);

/// [rows, columns]: dequantised in the type it was quantised in, then cast. On a device one launch, for which the
/// program needs the device's loops (kernels/decoder_loops.h).
at::Tensor dequantize(const Nf4& weight, at::ScalarType as);

}  // namespace expc::llama
