#pragma once

// The arithmetic of single values in the loops of a decoder: storage types, fake quantisation, NF4 and the gated
// product. The CPU's loops pass whole vectors of floats, CUDA's kernels single floats. Both compilers build this one
// source, so a test that pins the bits of the CPU's build also pins those of the kernels.
//
// All functions are forced inline. The CPU's loops are compiled once for each instruction set; an ordinary inline
// function would exist once in the program, and the linker might keep the copy that an older processor cannot run.
//
// Where bits matter, a product must not be fused with the sum that follows it: unfused() tells GCC so, and CUDA's
// kernels are compiled with -fmad=false.

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define EXPC_ELEMENT __host__ __device__ __forceinline__ static
#else
#define EXPC_ELEMENT [[gnu::always_inline]] inline static
#endif

namespace expc::kernels {

/// A bfloat16 as it lies in memory: the upper half of a float. Arithmetic is done in float.
struct Bf16 {
  uint16_t bits;
};
/// An IEEE half (fp16) as it lies in memory. Only device kernels use it.
struct Half {
  uint16_t bits;
};

/// Reinterprets the bits of `from`, as std::bit_cast does, but for device code and vector types too.
template <typename To, typename From>
EXPC_ELEMENT To asBits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

/// How a number is stored (S) and computed with (Wide). kEpsilon is the machine epsilon of S: the distance from 1 to
/// the next larger number.
template <typename S>
struct Number {
  using Wide = S;
  static constexpr double kEpsilon = sizeof(S) == 8 ? 0x1p-52 : 0x1p-23;
  EXPC_ELEMENT Wide wide(S x) { return x; }
  EXPC_ELEMENT S narrow(Wide x) { return x; }
};
template <>
struct Number<Bf16> {
  using Wide = float;
  static constexpr double kEpsilon = 0x1p-7;
  EXPC_ELEMENT float wide(Bf16 x) { return asBits<float>(uint32_t(x.bits) << 16); }
  /// Rounds to nearest, ties to even. Every NaN becomes the same quiet NaN: adding to its bits could carry into the
  /// sign.
  EXPC_ELEMENT Bf16 narrow(float x) {
    const auto bits = asBits<uint32_t>(x);
    return {uint16_t(x != x ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
  }
};

/// x rounded to S and widened again: the value that a tensor of S would hold.
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide stored(typename Number<S>::Wide x) {
  return Number<S>::wide(Number<S>::narrow(x));
}

/// v, rounded before it is used: the compiler must not contract the product v and a following sum to a fused
/// multiply-add, which rounds once instead of twice.
template <typename V>
EXPC_ELEMENT V unfused(V v) {
#if defined(__clang__) || defined(__CUDACC__)  // contracts within one expression only, or never
  return v;
#else
  return __builtin_assoc_barrier(v);
#endif
}

/// Rounds to the nearest whole number, ties to even, for |v| < 2^22. After adding 1.5 * 2^23 no bit of the mantissa
/// is left for a fraction, so the processor's rounding does the work.
template <typename V>
EXPC_ELEMENT V nearest(V v) {
  constexpr float kShift = 0x1.8p23F;
  return (v + kShift) - kShift;
}

// --- fake quantisation: torchao's -----------------------------------------------------------------------------------

// Fake quantisation rounds values to the steps of a low-precision type but keeps them in floating point, so that
// training sees the error. Formulas, constants and the order of roundings are torchao's (8da4w-qat); another order
// gives other bits.

/// Smallest scale of 8-bit activations, so that a row of zeros has one.
constexpr float kLeastInt8Scale = 0x1p-23F;
// Half of 15 steps, not the largest value 7: a group's maximum lies halfway between two steps
constexpr float kInt4Steps = 7.5F;

/// The values that a row is rounded to: (step - zero) * scale for whole steps from `low` to `high`.
struct Grid {
  float scale, zero, low, high;
};

/// The asymmetric 8-bit grid of a row whose values lie in [least, largest]; it always contains 0 (torchao's
/// activations, one grid per token). Each intermediate result is rounded to S, as torch's operators on tensors of S
/// would.
template <typename S>
EXPC_ELEMENT Grid int8Grid(float least, float largest) {
  least = least > 0 ? 0.0F : least;
  largest = largest < 0 ? 0.0F : largest;
  float scale = stored<S>(stored<S>(largest - least) / 255.0F);
  scale = scale < kLeastInt8Scale ? kLeastInt8Scale : scale;
  float zero = stored<S>(-128.0F - nearest(stored<S>(least / scale)));
  zero = zero < -128.0F ? -128.0F : zero;
  zero = zero > 127.0F ? 127.0F : zero;
  return {scale, zero, -128.0F, 127.0F};
}

/// The symmetric 4-bit grid around 0 of a group of weights in [least, largest]. The scale is at least S's machine
/// epsilon: 2^-23 for fp32, 2^-7 for bf16.
template <typename S>
EXPC_ELEMENT Grid int4Grid(float least, float largest) {
  constexpr auto kLeast = float(Number<S>::kEpsilon);
  const float scale = stored<S>((-least > largest ? -least : largest) / kInt4Steps);
  return {scale < kLeast ? kLeast : scale, 0.0F, -8.0F, 7.0F};
}

/// The step that is nearest to x, not yet limited to the grid. It multiplies by the rounded reciprocal of the scale,
/// as torchao does; a division gives other bits.
template <typename V>
EXPC_ELEMENT V stepOf(V x, float inverse, const Grid& grid) {
  return nearest(unfused(x * inverse)) + grid.zero;
}
/// Whether a step lies on the grid. Outside of it the gradient is zero.
template <typename V>
EXPC_ELEMENT auto isInside(V step, const Grid& grid) {
  return (step >= grid.low) & (step <= grid.high);
}
/// The value of a step after clamping it to the grid.
template <typename V>
EXPC_ELEMENT V valueOf(V step, const Grid& grid) {
  step = step < grid.low ? V{} + grid.low : step;
  step = step > grid.high ? V{} + grid.high : step;
  return (step - grid.zero) * grid.scale;
}
/// The gradient with respect to a value that was inside the grid. The straight-through estimate treats rounding as
/// the identity; multiplying by scale and reciprocal can still change the last bit, as in torchao.
template <typename V>
EXPC_ELEMENT V throughRounding(V gradient, float scale) {
  return gradient * scale * (1.0F / scale);
}

// --- NF4: torchao's -------------------------------------------------------------------------------------------------

// A linear weight in NF4 has a 4-bit code per element, an 8-bit scale per block of 64 elements, a factor per 256
// blocks, and one mean (llama/nf4.h). Each operation is rounded to S, the type that was quantised, as torchao's
// tensors are.
/// The table's value for `code` (0 to 15) in S. torchao's table has four decimals, unlike bitsandbytes' seven.
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide nf4Code(unsigned code) {
  constexpr double kTable[16] = {-1.0,   -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
                                 0.0796, 0.1609,  0.2461,  0.3379,  0.4407,  0.5626,  0.7230,  1.0};
  return stored<S>(static_cast<typename Number<S>::Wide>(kTable[code]));
}
/// A block's scale, restored from its 8-bit code, its group's factor and the matrix' mean.
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide nf4Scale(int8_t quantised, S factor, S mean) {
  using Wide = typename Number<S>::Wide;
  const Wide centred = stored<S>(static_cast<Wide>(quantised) / Number<S>::wide(factor));
  return stored<S>(centred + Number<S>::wide(mean));
}
/// An element: the table's value times its block's scale.
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide nf4Value(typename Number<S>::Wide code, typename Number<S>::Wide scale) {
  return stored<S>(code * scale);
}

// --- gated product --------------------------------------------------------------------------------------------------

/// e^x within 2 units in the last place. x is clamped to the range whose result fp32 holds as a normal number; NaN
/// stays NaN. Bits is an unsigned integer type as wide as V, or a vector of such.
///
/// Splits x = whole * ln 2 + r with |r| <= ln 2 / 2, evaluates e^r by Taylor's polynomial of degree 7, and adds
/// `whole` to the exponent's bits.
template <typename Bits, typename V>
EXPC_ELEMENT V exponential(V x) {
  constexpr float kLeast = -86.5F, kMost = 88.0F;
  constexpr float kShift = 0x1.8p23F;  // adding it rounds to a whole number, which then stands in the low bits
  x = x < kLeast ? V{} + kLeast : x;
  x = x > kMost ? V{} + kMost : x;
  const V shifted = x * 0x1.715476p0F + kShift, whole = shifted - kShift;
  // ln 2 is split in two parts (Cody and Waite), so that the product of the first part with `whole` is exact.
  const V r = (x - whole * 0x1.62ep-1F) - whole * 0x1.0bfbe8p-15F;
  V p = r * (1.0F / 5040) + (1.0F / 720);
  p = p * r + (1.0F / 120);
  p = p * r + (1.0F / 24);
  p = p * r + (1.0F / 6);
  p = p * r + 0.5F;
  p = p * r * r + r + 1.0F;
  return asBits<V>(asBits<Bits>(p) + (asBits<Bits>(shifted) << 23));
}
/// 1 / (1 + e^-x)
template <typename Bits, typename V>
EXPC_ELEMENT V sigmoid(V x) {
  return 1.0F / (1.0F + exponential<Bits>(-x));
}

/// SwiGLU's gated product, silu(gate) * up.
template <typename Bits, typename V>
EXPC_ELEMENT V gated(V gate, V up) {
  return gate * sigmoid<Bits>(gate) * up;
}
/// The gradients of gated() with respect to both factors.
template <typename V>
struct GatedGrad {
  V gate, up;
};
template <typename Bits, typename V>
EXPC_ELEMENT GatedGrad<V> gatedGrad(V gate, V up, V gradient) {
  const V s = sigmoid<Bits>(gate);
  return {gradient * up * s * (1.0F + gate * (1.0F - s)), gradient * gate * s};
}

}  // namespace expc::kernels
