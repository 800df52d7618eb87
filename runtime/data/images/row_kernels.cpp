// The loops of row_kernels.h, written so that GCC vectorises them: no branches, no aliasing, one stream of stores each.
// Results do not depend on the instruction set except for fused multiply-adds in floating point.

#include "runtime/data/images/row_kernels.h"

#include <algorithm>
#include <bit>

#include "runtime/data/images/clones.h"
#include "runtime/data/images/taps.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define EXPC_INLINE __attribute__((always_inline)) inline

namespace expc::data::rows {
namespace {

/// A sum in fixed point as a byte. kHalf was added before, so the shift rounds half up, as PIL does.
EXPC_INLINE uint8_t clipped(int32_t sum) { return uint8_t(std::clamp(sum >> kFixedBits, 0, 255)); }
constexpr int32_t kHalf = 1 << (kFixedBits - 1);

/// Converts to half precision, rounding to nearest even, without F16C, which plain x86-64 lacks. Normal numbers are
/// rounded in integers: the added constant changes the exponent's bias and carries where needed. Subnormal ones are
/// rounded by the floating-point adder, which aligns them to 0.5.
EXPC_INLINE uint16_t half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000u, magnitude = bits ^ sign;
  const uint32_t normal = (magnitude + 0xc8000fffu + ((magnitude >> 13) & 1)) >> 13;
  const uint32_t tiny = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  // Above the largest half: infinity, or NaN.
  const uint32_t huge = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  uint32_t result = magnitude < 0x38800000u ? tiny : normal;
  result = magnitude >= 0x477ff000u ? huge : result;
  return uint16_t(result | (sign >> 16));
}

}  // namespace

template <typename T>
EXPC_CLONES void blend(const T* __restrict a, const T* __restrict b, T wa, T wb, int64_t n, T* __restrict out) {
  for (int64_t x = 0; x < n; ++x) out[x] = wa * a[x] + wb * b[x];
}

template <typename T>
EXPC_CLONES void blendPlanar(const T* __restrict a, const T* __restrict b, T wa, T wb, int64_t n, const Affine<T>& map,
                             T* __restrict red, T* __restrict green, T* __restrict blue) {
  for (int64_t x = 0; x < n; ++x) {
    const T v = wa * a[x] + wb * b[x];
    red[x] = v * map.scale[0] + map.shift[0];
    green[x] = v * map.scale[1] + map.shift[1];
    blue[x] = v * map.scale[2] + map.shift[2];
  }
}

template <typename T>
EXPC_CLONES void accumulate(const T* __restrict line, T weight, int64_t n, T* __restrict sums) {
  for (int64_t x = 0; x < n; ++x) sums[x] += weight * line[x];
}

template <typename T>
EXPC_CLONES void mapPlanar(const uint8_t* __restrict pixels, int64_t n, const Affine<T>& map, T* __restrict red,
                           T* __restrict green, T* __restrict blue) {
  for (int64_t x = 0; x < n; ++x) {
    red[x] = static_cast<T>(pixels[3 * x]) * map.scale[0] + map.shift[0];
    green[x] = static_cast<T>(pixels[3 * x + 1]) * map.scale[1] + map.shift[1];
    blue[x] = static_cast<T>(pixels[3 * x + 2]) * map.scale[2] + map.shift[2];
  }
}

/// Sixteen pixels are 48 elements, after which channels repeat: with scales and shifts laid out for 48 elements the
/// inner loop has no index arithmetic and vectorises.
template <typename T>
EXPC_CLONES void mapInterleaved(const uint8_t* __restrict pixels, int64_t n, const Affine<T>& map, T* __restrict out) {
  constexpr int64_t kBlock = 48;
  T scale[kBlock], shift[kBlock];
  for (int64_t i = 0; i < kBlock; ++i) {
    scale[i] = map.scale[i % 3];
    shift[i] = map.shift[i % 3];
  }
  int64_t i = 0;
  for (; i + kBlock <= 3 * n; i += kBlock)
    for (int64_t k = 0; k < kBlock; ++k) out[i + k] = static_cast<T>(pixels[i + k]) * scale[k] + shift[k];
  for (int64_t k = 0; i < 3 * n; ++i, ++k) out[i] = static_cast<T>(pixels[i]) * scale[k] + shift[k];
}

template <typename T>
EXPC_CLONES void triple(const T* __restrict in, int64_t n, T* __restrict out) {
  for (int64_t x = 0; x < n; ++x) out[3 * x] = out[3 * x + 1] = out[3 * x + 2] = in[x];
}

// Instantiations for the types that the preparer uses.
template void triple(const uint8_t*, int64_t, uint8_t*);
template void triple(const uint16_t*, int64_t, uint16_t*);
#define EXPC_INSTANTIATE(T)                                                                   \
  template void blend(const T*, const T*, T, T, int64_t, T*);                                 \
  template void blendPlanar(const T*, const T*, T, T, int64_t, const Affine<T>&, T*, T*, T*); \
  template void accumulate(const T*, T, int64_t, T*);                                         \
  template void mapPlanar(const uint8_t*, int64_t, const Affine<T>&, T*, T*, T*);             \
  template void mapInterleaved(const uint8_t*, int64_t, const Affine<T>&, T*);                \
  template void triple(const T*, int64_t, T*);
EXPC_INSTANTIATE(float)
EXPC_INSTANTIATE(double)

EXPC_CLONES void split(const uint8_t* __restrict pixels, int64_t n, uint8_t* __restrict red, uint8_t* __restrict green,
                       uint8_t* __restrict blue) {
  for (int64_t x = 0; x < n; ++x) {
    red[x] = pixels[3 * x];
    green[x] = pixels[3 * x + 1];
    blue[x] = pixels[3 * x + 2];
  }
}

EXPC_CLONES void toHalf(const float* __restrict in, int64_t n, uint16_t* __restrict out) {
  for (int64_t x = 0; x < n; ++x) out[x] = half(in[x]);
}

EXPC_CLONES void toBFloat(const float* __restrict in, int64_t n, uint16_t* __restrict out) {
  for (int64_t x = 0; x < n; ++x) {  // prepared pixels are finite, so NaN needs no care
    const auto bits = std::bit_cast<uint32_t>(in[x]);
    out[x] = uint16_t((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
  }
}

EXPC_CLONES void toBytes(const float* __restrict in, int64_t n, uint8_t* __restrict out) {
  for (int64_t x = 0; x < n; ++x) out[x] = uint8_t(std::clamp(int32_t(in[x] + 0.5f), 0, 255));
}

EXPC_CLONES void scaleAcross(const uint8_t* __restrict pixels, const int32_t* __restrict first,
                             const int32_t* __restrict weights, int64_t taps, int64_t n, uint8_t* __restrict out) {
  for (int64_t x = 0; x < n; ++x) {
    const uint8_t* in = pixels + 3 * int64_t{first[x]};
    int32_t red = kHalf, green = kHalf, blue = kHalf;
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int32_t weight = weights[tap * n + x];
      red += weight * in[3 * tap];
      green += weight * in[3 * tap + 1];
      blue += weight * in[3 * tap + 2];
    }
    out[3 * x] = clipped(red);
    out[3 * x + 1] = clipped(green);
    out[3 * x + 2] = clipped(blue);
  }
}

EXPC_CLONES void scaleDown(const uint8_t* __restrict lines, const int32_t* __restrict weights, int64_t taps,
                           int64_t bytes, uint8_t* __restrict out) {
  constexpr int64_t kBlock = 256;  // a block's sums stay in the first-level cache while all taps are added
  int32_t sums[kBlock];
  for (int64_t begin = 0; begin < bytes; begin += kBlock) {
    const int64_t n = std::min(kBlock, bytes - begin);
    std::fill(sums, sums + n, kHalf);
    for (int64_t tap = 0; tap < taps; ++tap) {
      const uint8_t* line = lines + tap * bytes + begin;
      const int32_t weight = weights[tap];
      for (int64_t x = 0; x < n; ++x) sums[x] += weight * line[x];
    }
    for (int64_t x = 0; x < n; ++x) out[begin + x] = clipped(sums[x]);
  }
}

}  // namespace expc::data::rows
