#pragma once

// Weights in 4-bit NormalFloat with quantised scales, bit for bit as torchao has them (WORKLOADS §4).

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
  at::Tensor pairs;    // codePairs of `type` beside the weight; undefined on the CPU, which takes a loop instead
  int64_t rows = 0, columns = 0;

  bool defined() const { return packed.defined(); }
  at::ScalarType type() const { return mean.scalar_type(); }
  /// Of all that is stored; `pairs` are shared.
  int64_t bytes() const;
  /// The same where `code_pairs` are.
  Nf4 to(const at::Tensor& code_pairs) const;
};

/// The values of both codes of each byte [256, 2], before they are scaled. One serves all weights of a type on a
/// device, and should: making it waits for the device.
at::Tensor codePairs(at::ScalarType type, at::Device device);

/// Of a weight on the CPU whose number of values is a multiple of Nf4::kUnit. One whose blocks all have the same scale
/// is not supported by the format: its values come out as not-a-number.
Nf4 quantizeNf4(const at::Tensor& weight);

/// [rows, columns]: dequantised in the type it was quantised in, then cast.
at::Tensor dequantize(const Nf4& weight, at::ScalarType as);

}  // namespace expc::llama
