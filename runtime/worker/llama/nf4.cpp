#include "runtime/worker/llama/nf4.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

namespace expc::llama {
namespace {

// Four decimals, as torchao has them.
constexpr std::array<double, 16> kTable = {-1.0,   -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
                                           0.0796, 0.1609,  0.2461,  0.3379,  0.4407,  0.5626,  0.7230,  1.0};

/// What the scale of each block became, in the weight's type.
at::Tensor blockScales(const Nf4& weight) {
  return ((weight.scales.to(weight.type()).view({-1, Nf4::kGroup}) / weight.factors.unsqueeze(1)).flatten())
      .add_(weight.mean);
}

/// The sixteen values of a block, rounded to the stored type.
template <typename Stored, typename Out>
void valuesOf(Stored scale, const std::array<Stored, 16>& table, std::array<Out, 16>& values) {
  for (size_t j = 0; j < 16; ++j) values[j] = static_cast<Out>(static_cast<Stored>(table[j] * scale));
}

template <typename Stored, typename Out>
void expand(const Nf4& weight, const at::Tensor& scales, const at::Tensor& result) {
  std::array<Stored, 16> table;
  for (size_t j = 0; j < 16; ++j) table[j] = static_cast<Stored>(static_cast<float>(kTable[j]));
  if constexpr (std::is_same_v<Stored, double>) std::copy(kTable.begin(), kTable.end(), table.begin());
  const uint8_t* packed = weight.packed.const_data_ptr<uint8_t>();
  const Stored* scale = scales.const_data_ptr<Stored>();
  Out* out = result.mutable_data_ptr<Out>();
  constexpr int64_t kBytes = Nf4::kBlock / 2;
  at::parallel_for(0, scales.numel(), 64, [&](int64_t begin, int64_t end) {
    std::array<Out, 16> values;
    for (int64_t block = begin; block < end; ++block) {
      valuesOf(scale[block], table, values);
      const uint8_t* from = packed + block * kBytes;
      Out* to = out + block * Nf4::kBlock;
      for (int64_t k = 0; k < kBytes; ++k) {
        to[2 * k] = values[from[k] >> 4];
        to[2 * k + 1] = values[from[k] & 15];
      }
    }
  });
}

at::Tensor onCpu(const Nf4& weight, at::ScalarType as) {
  const at::Tensor scales = blockScales(weight);
  const at::Tensor result = at::empty({weight.rows, weight.columns}, weight.mean.options().dtype(as));
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, weight.type(), "NF4", [&] {
    using Stored = scalar_t;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, as, "NF4",
                                    [&] { expand<Stored, scalar_t>(weight, scales, result); });
  });
  return result;
}

/// The code nearest to each of `values` [blocks, kBlock] divided by `largest` [blocks], the lower one of two as near,
/// two a byte. All distances from 0/0 are NaN: code 0.
template <typename Stored>
void packOnCpu(const at::Tensor& values, const at::Tensor& largest, const at::Tensor& packed) {
  std::array<Stored, 16> table;
  for (size_t j = 0; j < 16; ++j) table[j] = static_cast<Stored>(kTable[j]);
  const Stored* from = values.const_data_ptr<Stored>();
  const Stored* scale = largest.const_data_ptr<Stored>();
  uint8_t* to = packed.mutable_data_ptr<uint8_t>();
  at::parallel_for(0, largest.numel(), 64, [&](int64_t begin, int64_t end) {
    std::array<Stored, Nf4::kBlock> unit, nearest;
    std::array<int32_t, Nf4::kBlock> codes;
    for (int64_t block = begin; block < end; ++block) {
      for (size_t i = 0; i < unit.size(); ++i) {
        unit[i] = from[block * Nf4::kBlock + static_cast<int64_t>(i)] / scale[block];
        nearest[i] = std::abs(static_cast<Stored>(unit[i] - table[0]));
        codes[i] = 0;
      }
      for (size_t j = 1; j < table.size(); ++j)
        for (size_t i = 0; i < unit.size(); ++i) {
          const Stored distance = std::abs(static_cast<Stored>(unit[i] - table[j]));
          const bool nearer = distance < nearest[i];  // false where a block of zeros makes NaN
          codes[i] = nearer ? static_cast<int32_t>(j) : codes[i];
          nearest[i] = nearer ? distance : nearest[i];
        }
      for (size_t i = 0; i < unit.size(); i += 2)
        to[(block * Nf4::kBlock + static_cast<int64_t>(i)) / 2] = static_cast<uint8_t>(codes[i] * 16 + codes[i + 1]);
    }
  });
}

}  // namespace

int64_t Nf4::bytes() const {
  return static_cast<int64_t>(packed.nbytes() + scales.nbytes() + factors.nbytes() + mean.nbytes());
}

Nf4 Nf4::to(const at::Tensor& code_pairs) const {
  const at::Device device = code_pairs.device();
  return {packed.to(device), scales.to(device), factors.to(device), mean.to(device), code_pairs, rows, columns};
}

at::Tensor codePairs(at::ScalarType type, at::Device device) {
  at::Tensor pairs = at::empty({256, 2}, at::TensorOptions(at::kDouble));
  auto* at = pairs.mutable_data_ptr<double>();
  for (size_t byte = 0; byte < 256; ++byte) {
    *at++ = kTable[byte / 16];
    *at++ = kTable[byte % 16];
  }
  return pairs.to(type).to(device);
}

Nf4 quantizeNf4(const at::Tensor& weight) {
  assert(weight.is_cpu() && weight.dim() == 2 && weight.numel() % Nf4::kUnit == 0 && "whole groups of blocks");
  at::NoGradGuard no_grad;
  const at::Tensor blocks = weight.detach().reshape({-1, Nf4::kBlock});
  const at::Tensor largest = blocks.abs().amax(1);
  Nf4 result;
  result.rows = weight.size(0);
  result.columns = weight.size(1);
  result.mean = largest.mean();
  const at::Tensor centred = (largest - result.mean).view({-1, Nf4::kGroup});
  result.factors = static_cast<double>(Nf4::kGroup) / (2 * centred.abs().amax(1));
  result.scales = (centred * result.factors.unsqueeze(1)).round_().clamp_(-128, 127).to(at::kChar).flatten();
  result.packed = at::empty({weight.numel() / 2}, weight.options().dtype(at::kByte));
  // By the scale itself, not by what it was quantised to.
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, weight.scalar_type(), "NF4", [&] {
    packOnCpu<scalar_t>(blocks.contiguous(), largest.contiguous(), result.packed);
  });
  return result;
}

at::Tensor dequantize(const Nf4& weight, at::ScalarType as) {
  at::NoGradGuard no_grad;
  if (!weight.pairs.defined()) return onCpu(weight, as);
  const at::Tensor values = weight.pairs.index_select(0, weight.packed.to(at::kInt)).view({-1, Nf4::kBlock});
  return values.mul_(blockScales(weight).unsqueeze(1)).view({weight.rows, weight.columns}).to(as);
}

}  // namespace expc::llama
