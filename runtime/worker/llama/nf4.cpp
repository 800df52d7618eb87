// Quantises on the CPU, expands on the CPU and on devices. Which operation is rounded to which type decides the bits,
// so the order of operations is torchao's throughout.

#include "runtime/worker/llama/nf4.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "runtime/worker/kernels/decoder_loops.h"

namespace expc::kernels {

/// Lets the arithmetic of elements.h work on torch's 16-bit types, whose conversions round as ours do.
template <typename S>
struct Narrow {
  using Wide = float;
  static float wide(S x) { return x; }
  static S narrow(float x) { return x; }
};
template <>
struct Number<at::Half> : Narrow<at::Half> {};
template <>
struct Number<at::BFloat16> : Narrow<at::BFloat16> {};

}  // namespace expc::kernels

namespace expc::llama {
namespace {

using kernels::Number;

/// The values of all codes, rounded to a type.
template <typename Stored>
std::array<typename Number<Stored>::Wide, 16> codeTable() {
  std::array<typename Number<Stored>::Wide, 16> table;
  for (unsigned code = 0; code < table.size(); ++code) table[code] = kernels::nf4Code<Stored>(code);
  return table;
}

/// Expands block by block. A block has only 16 different values, so they are computed once and then looked up.
template <typename Stored, typename Out>
void expand(const Nf4& weight, const at::Tensor& result) {
  const auto table = codeTable<Stored>();
  const uint8_t* packed = weight.packed.const_data_ptr<uint8_t>();
  const int8_t* scales = weight.scales.const_data_ptr<int8_t>();
  const Stored *factors = weight.factors.const_data_ptr<Stored>(), mean = *weight.mean.const_data_ptr<Stored>();
  Out* out = result.mutable_data_ptr<Out>();
  constexpr int64_t kBytes = Nf4::kBlock / 2;
  at::parallel_for(0, weight.scales.numel(), 64, [&](int64_t begin, int64_t end) {
    // `values` are a block's 16 results, already cast to the output's type.
    std::array<Out, 16> values;
    for (int64_t block = begin; block < end; ++block) {
      const auto scale = kernels::nf4Scale<Stored>(scales[block], factors[block / Nf4::kGroup], mean);
      for (size_t code = 0; code < values.size(); ++code)
        values[code] = static_cast<Out>(kernels::nf4Value<Stored>(table[code], scale));
      const uint8_t* from = packed + block * kBytes;
      Out* to = out + block * Nf4::kBlock;
      for (int64_t k = 0; k < kBytes; ++k) {
        to[2 * k] = values[from[k] >> 4];
        to[2 * k + 1] = values[from[k] & 15];
      }
    }
  });
}

void expandOnCpu(const Nf4& weight, const at::Tensor& result) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, weight.type(), "NF4", [&] {
    using Stored = scalar_t;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, result.scalar_type(), "NF4",
                                    [&] { expand<Stored, scalar_t>(weight, result); });
  });
}

/// The kernels' name of a type.
kernels::Stored storedAs(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return kernels::Stored::Fp64;
    case at::kFloat:
      return kernels::Stored::Fp32;
    case at::kBFloat16:
      return kernels::Stored::Bf16;
    default:
      TORCH_CHECK(type == at::kHalf, "NF4 expands to fp64, fp32, bf16 and fp16, not to ", type);
      return kernels::Stored::Fp16;
  }
}

/// Expands on the device that holds the weight, in one launch.
void expandOnDevice(const Nf4& weight, const at::Tensor& result) {
  TORCH_CHECK(kernels::deviceLoops(), "this program has no loops for ", result.device(), ", where NF4 lies");
  kernels::deviceLoops()->expand_nf4(
      {weight.packed.const_data_ptr<uint8_t>(), weight.scales.const_data_ptr<int8_t>(), weight.factors.const_data_ptr(),
       weight.mean.const_data_ptr(), weight.scales.numel()},
      storedAs(weight.type()), storedAs(result.scalar_type()), result.mutable_data_ptr());
}

/// Packs the nearest code of each of `values` [blocks * kBlock], divided by its block's `largest` [blocks]: the
/// original scale, not the quantised one. Of two equally near codes the lower one counts; bf16 has many such ties. A
/// block of zeros gives 0/0 and only NaN distances, hence code 0, as in torchao.
template <typename Stored>
void packOnCpu(const at::Tensor& values, const at::Tensor& largest, const at::Tensor& packed) {
  const auto table = codeTable<Stored>();
  const Stored* from = values.const_data_ptr<Stored>();
  const Stored* scale = largest.const_data_ptr<Stored>();
  uint8_t* to = packed.mutable_data_ptr<uint8_t>();
  at::parallel_for(0, largest.numel(), 64, [&](int64_t begin, int64_t end) {
    // Loops over the 64 values are innermost, so that the compiler makes vectors of them.
    std::array<Stored, Nf4::kBlock> unit, nearest;
    std::array<int32_t, Nf4::kBlock> codes;
    for (int64_t block = begin; block < end; ++block) {
      for (size_t i = 0; i < unit.size(); ++i) {
        unit[i] = from[block * Nf4::kBlock + int64_t(i)] / scale[block];
        nearest[i] = std::abs(Stored(unit[i] - Stored(table[0])));
        codes[i] = 0;
      }
      for (size_t j = 1; j < table.size(); ++j)
        for (size_t i = 0; i < unit.size(); ++i) {
          const Stored distance = std::abs(Stored(unit[i] - Stored(table[j])));
          const bool nearer = distance < nearest[i];  // false where a block of zeros makes NaN
          codes[i] = nearer ? int32_t(j) : codes[i];
          nearest[i] = nearer ? distance : nearest[i];
        }
      for (size_t i = 0; i < unit.size(); i += 2)
        to[(block * Nf4::kBlock + int64_t(i)) / 2] = uint8_t(codes[i] * 16 + codes[i + 1]);
    }
  });
}

}  // namespace

int64_t Nf4::bytes() const { return int64_t(packed.nbytes() + scales.nbytes() + factors.nbytes() + mean.nbytes()); }

Nf4 Nf4::to(at::Device device) const {
  const auto there = [&](const at::Tensor& tensor) {
    return tensor.is_meta() ? at::empty_like(tensor, tensor.options().device(device)) : tensor.to(device);
  };
  return {there(packed), there(scales), there(factors), there(mean), rows, columns};
}

Nf4 quantizeNf4(const at::Tensor& weight) {
  assert(weight.is_cpu() && weight.dim() == 2 && weight.numel() % Nf4::kUnit == 0 && "whole groups of blocks");
  at::NoGradGuard no_grad;
  // Blocks run along the memory, over the ends of rows if need be.
  const at::Tensor values = weight.detach().reshape({-1}), largest = largestOfBlocks(values);
  Nf4 result;
  result.rows = weight.size(0);
  result.columns = weight.size(1);
  // Magnitudes first: scales, factors and mean need those of all blocks.
  scaleNf4(largest, result);
  result.packed = at::empty({weight.numel() / 2}, weight.options().dtype(at::kByte));
  packNf4(values, largest, result.packed);
  return result;
}

Nf4 describeNf4(int64_t rows, int64_t columns, at::ScalarType type) {
  const int64_t count = rows * columns;
  const auto described = [](at::IntArrayRef sizes, at::ScalarType stored) {
    return at::empty(sizes, at::TensorOptions().dtype(stored).device(at::kMeta));
  };
  Nf4 result;
  result.packed = described({count / 2}, at::kByte);
  result.scales = described({count / Nf4::kBlock}, at::kChar);
  result.factors = described({count / Nf4::kUnit}, type);
  result.mean = described({}, type);
  result.rows = rows;
  result.columns = columns;
  return result;
}

at::Tensor largestOfBlocks(const at::Tensor& values) { return values.view({-1, Nf4::kBlock}).abs().amax(1); }

void packNf4(const at::Tensor& values, const at::Tensor& largest, const at::Tensor& packed) {
  assert(values.is_contiguous() && largest.is_contiguous() && packed.is_contiguous());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, values.scalar_type(), "NF4",
                                  [&] { packOnCpu<scalar_t>(values, largest, packed); });
}

void scaleNf4(const at::Tensor& largest, Nf4& weight) {
  weight.mean = largest.mean();
  const at::Tensor centred = (largest - weight.mean).view({-1, Nf4::kGroup});
  // f = 256 / (2 max|c|) maps a group's centred scales to about -128 .. 128 before clamping.
  weight.factors = double(Nf4::kGroup) / (2 * centred.abs().amax(1));
  weight.scales = (centred * weight.factors.unsqueeze(1)).round_().clamp_(-128, 127).to(at::kChar).flatten();
}

at::Tensor dequantize(const Nf4& weight, at::ScalarType as) {
  const at::Tensor result = at::empty({weight.rows, weight.columns}, weight.packed.options().dtype(as));
  if (weight.packed.is_cpu())
    expandOnCpu(weight, result);
  else
    expandOnDevice(weight, result);
  return result;
}

}  // namespace expc::llama
