#pragma once

// The arithmetic of single values in the loops of a decoder. The CPU's loops hand whole vectors of floats to it, CUDA's
// kernels single floats: one source for both compilers, so that what holds the CPU's build to given bits holds the
// kernels to them. Functions are inlined everywhere: the CPU's loops are compiled for several instruction sets, and a
// function that those shared would be of one of them.
//
// Where bits matter a product must not be fused with the sum behind it: unfused() says so to GCC, and kernels are
// compiled with -fmad=false.

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define EXPC_ELEMENT __host__ __device__ __forceinline__ static
#else
#define EXPC_ELEMENT [[gnu::always_inline]] inline static
#endif

namespace expc::kernels {

/// A bfloat16 as it lies in memory. Arithmetic is in float.
struct Bf16 {
  uint16_t bits;
};
/// An IEEE half as it lies in memory; on devices only.
struct Half {
  uint16_t bits;
};

template <typename To, typename From>
EXPC_ELEMENT To asBits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof(to));
  return to;
}

/// How numbers are stored: in S, computed with in Wide. kEpsilon: what S adds to 1.
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
  EXPC_ELEMENT float wide(Bf16 x) { return asBits<float>(static_cast<uint32_t>(x.bits) << 16); }
  /// To the nearest, of two the even one. What is not a number stays none, whatever its bits.
  EXPC_ELEMENT Bf16 narrow(float x) {
    const auto bits = asBits<uint32_t>(x);
    return {static_cast<uint16_t>(x != x ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
  }
};

/// A number as it is after it was stored in S.
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide stored(typename Number<S>::Wide x) {
  return Number<S>::wide(Number<S>::narrow(x));
}

/// A product that is rounded before it is added to.
template <typename V>
EXPC_ELEMENT V unfused(V v) {
#if defined(__clang__) || defined(__CUDACC__)  // fuses within an expression only, or not at all
  return v;
#else
  return __builtin_assoc_barrier(v);
#endif
}

/// The nearest whole number, of halves the even one: adding this leaves no bits for the rest.
template <typename V>
EXPC_ELEMENT V nearest(V v) {
  constexpr float kShift = 0x1.8p23F;
  return (v + kShift) - kShift;
}

// --- fake quantisation: torchao's -----------------------------------------------------------------------------------

constexpr float kLeastInt8Scale = 0x1p-23F;
constexpr float kInt4Steps = 7.5F;  // half the range, not the largest value: a group's maximum lies on a tie

/// What the values of a row are rounded to: whole steps of `scale` from a zero point, from `low` to `high`.
struct Grid {
  float scale, zero, low, high;
};

/// Of 8 bits, for a row whose values lie between these. Each number is rounded to S, as tensors of S would.
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

/// Of 4 bits around 0.
template <typename S>
EXPC_ELEMENT Grid int4Grid(float least, float largest) {
  constexpr auto kLeast = static_cast<float>(Number<S>::kEpsilon);
  const float scale = stored<S>((-least > largest ? -least : largest) / kInt4Steps);
  return {scale < kLeast ? kLeast : scale, 0.0F, -8.0F, 7.0F};
}

/// In which step x lies; by the rounded reciprocal of the scale, since a division gives other bits.
template <typename V>
EXPC_ELEMENT V stepOf(V x, float inverse, const Grid& grid) {
  return nearest(unfused(x * inverse)) + grid.zero;
}
/// Whether such a step is on the grid.
template <typename V>
EXPC_ELEMENT auto isInside(V step, const Grid& grid) {
  return (step >= grid.low) & (step <= grid.high);
}
/// The value of a step, cut off at both ends.
template <typename V>
EXPC_ELEMENT V valueOf(V step, const Grid& grid) {
  step = step < grid.low ? V{} + grid.low : step;
  step = step > grid.high ? V{} + grid.high : step;
  return (step - grid.zero) * grid.scale;
}
/// What a gradient becomes on its way through the rounding of a value that was inside.
template <typename V>
EXPC_ELEMENT V throughRounding(V gradient, float scale) {
  return gradient * scale * (1.0F / scale);
}

// --- NF4: torchao's -------------------------------------------------------------------------------------------------

/// The value of a code before it is scaled, to four decimals, in S.
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide nf4Code(unsigned code) {
  constexpr double kTable[16] = {-1.0,   -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0,
                                 0.0796, 0.1609,  0.2461,  0.3379,  0.4407,  0.5626,  0.7230,  1.0};
  return stored<S>(static_cast<typename Number<S>::Wide>(kTable[code]));
}
/// The scale of a block, from what it was quantised to.
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide nf4Scale(int8_t quantised, S factor, S mean) {
  using Wide = typename Number<S>::Wide;
  const Wide centred = stored<S>(static_cast<Wide>(quantised) / Number<S>::wide(factor));
  return stored<S>(centred + Number<S>::wide(mean));
}
template <typename S>
EXPC_ELEMENT typename Number<S>::Wide nf4Value(typename Number<S>::Wide code, typename Number<S>::Wide scale) {
  return stored<S>(code * scale);
}

// --- gated product --------------------------------------------------------------------------------------------------

/// e^x within 2 units in the last place. Beyond what fp32 holds it stays at its ends; NaN stays NaN. Bits: as wide as
/// V.
template <typename Bits, typename V>
EXPC_ELEMENT V exponential(V x) {
  constexpr float kLeast = -86.5F, kMost = 88.0F;
  constexpr float kShift = 0x1.8p23F;  // adding it rounds to a whole number, which is in the low bits
  x = x < kLeast ? V{} + kLeast : x;
  x = x > kMost ? V{} + kMost : x;
  const V shifted = x * 0x1.715476p0F + kShift, whole = shifted - kShift;
  // What is left of x by ln 2 in two parts, of which the first times a small whole number is exact.
  const V r = (x - whole * 0x1.62ep-1F) - whole * 0x1.0bfbe8p-15F;
  V p = r * (1.0F / 5040) + (1.0F / 720);
  p = p * r + (1.0F / 120);
  p = p * r + (1.0F / 24);
  p = p * r + (1.0F / 6);
  p = p * r + 0.5F;
  p = p * r * r + r + 1.0F;
  return asBits<V>(asBits<Bits>(p) + (asBits<Bits>(shifted) << 23));
}
template <typename Bits, typename V>
EXPC_ELEMENT V sigmoid(V x) {
  return 1.0F / (1.0F + exponential<Bits>(-x));
}

template <typename Bits, typename V>
EXPC_ELEMENT V gated(V gate, V up) {
  return gate * sigmoid<Bits>(gate) * up;
}
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
