#pragma once

// The inner loops of preparing images, each over one row. They are compiled for several instruction sets, of which one
// is chosen when the program starts (clones.h). Pointers must not overlap, which is what lets the compiler vectorise.
//
// All templates take float or double as T.

#include <cstdint>

#include "runtime/data/images/preparation.h"

namespace expc::data::rows {

/// A map of each channel's values: v -> v * scale[c] + shift[c].
template <typename T>
struct Affine {
  T scale[kChannels];
  T shift[kChannels];
};

/// The normalisation of bytes with ImageNet's mean and standard deviation, or the identity.
template <typename T>
Affine<T> affineOf(bool normalise) {
  Affine<T> affine;
  for (int64_t c = 0; c < kChannels; ++c) {
    affine.scale[c] = normalise ? static_cast<T>(1.0 / (255.0 * kStd[c])) : T{1};
    affine.shift[c] = normalise ? static_cast<T>(-kMean[c] / kStd[c]) : T{0};
  }
  return affine;
}

/// out = wa * a + wb * b, for n elements.
template <typename T>
void blend(const T* a, const T* b, T wa, T wb, int64_t n, T* out);

/// Blends as blend() does, and writes the result three times, mapped for each channel.
template <typename T>
void blendPlanar(const T* a, const T* b, T wa, T wb, int64_t n, const Affine<T>& map, T* red, T* green, T* blue);

/// sums += weight * line, for n elements.
template <typename T>
void accumulate(const T* line, T weight, int64_t n, T* sums);

/// Maps n pixels, red, green, blue side by side, into three planes.
template <typename T>
void mapPlanar(const uint8_t* pixels, int64_t n, const Affine<T>& map, T* red, T* green, T* blue);
/// Maps n pixels, red, green, blue side by side, into one row of 3 n elements.
template <typename T>
void mapInterleaved(const uint8_t* pixels, int64_t n, const Affine<T>& map, T* out);

/// Separates n red, green, blue pixels into three planes.
void split(const uint8_t* pixels, int64_t n, uint8_t* red, uint8_t* green, uint8_t* blue);

/// Writes each of n elements three times, side by side. T may also be an integer of 1 or 2 bytes.
template <typename T>
void triple(const T* in, int64_t n, T* out);

/// Converts to IEEE half precision and to bfloat16, rounding to nearest even, and to bytes, rounding half up.
/// toBFloat() takes finite values, toBytes() values from 0 to 255.
void toHalf(const float* in, int64_t n, uint16_t* out);
void toBFloat(const float* in, int64_t n, uint16_t* out);
void toBytes(const float* in, int64_t n, uint8_t* out);

/// Scales a row of 3-channel pixels in PIL's fixed point: output i is the sum over taps of weights[tap * n + i] x pixel
/// first[i] + tap, rounded and clipped to a byte.
void scaleAcross(const uint8_t* pixels, const int32_t* first, const int32_t* weights, int64_t taps, int64_t n,
                 uint8_t* out);
/// Makes a row of `bytes` values from `taps` rows that lie `bytes` apart, in PIL's fixed point; weights[tap] is that of
/// row tap.
void scaleDown(const uint8_t* lines, const int32_t* weights, int64_t taps, int64_t bytes, uint8_t* out);

}  // namespace expc::data::rows
