#pragma once

// The inner loops of preparing images, each over one row. They are compiled for several instruction sets, of which one
// is chosen when the program starts (clones.h). Pointers must not overlap, which is what lets the compiler vectorise.
//
// All templates take float or double as T.

#include <cstdint>

#include "runtime/data/images/preparation.h"

namespace expc::data::rows {

/// v -> v scale[c] + shift[c] for channel c.
template <typename T>
struct Affine {
  T scale[kChannels];
  T shift[kChannels];
};

/// From bytes to what networks are given, or to themselves.
template <typename T>
Affine<T> affineOf(bool normalise) {
  Affine<T> affine;
  for (int64_t c = 0; c < kChannels; ++c) {
    affine.scale[c] = normalise ? static_cast<T>(1.0 / (255.0 * kStd[c])) : T{1};
    affine.shift[c] = normalise ? static_cast<T>(-kMean[c] / kStd[c]) : T{0};
  }
  return affine;
}

/// out = wa a + wb b, n elements.
template <typename T>
void blend(const T* a, const T* b, T wa, T wb, int64_t n, T* out);

/// The same, written three times as the map of each channel says.
template <typename T>
void blendPlanar(const T* a, const T* b, T wa, T wb, int64_t n, const Affine<T>& map, T* red, T* green, T* blue);

/// sums += weight line
template <typename T>
void accumulate(const T* line, T weight, int64_t n, T* sums);

/// n red, green, blue pixels -> mapped, three planes or one row of 3 n.
template <typename T>
void mapPlanar(const uint8_t* pixels, int64_t n, const Affine<T>& map, T* red, T* green, T* blue);
template <typename T>
void mapInterleaved(const uint8_t* pixels, int64_t n, const Affine<T>& map, T* out);

/// n red, green, blue pixels into three planes.
void split(const uint8_t* pixels, int64_t n, uint8_t* red, uint8_t* green, uint8_t* blue);

/// Each of n elements three times, one after the other; of 1, 2, 4 or 8 bytes.
template <typename T>
void triple(const T* in, int64_t n, T* out);

/// To IEEE half precision and to bfloat16, to nearest even; to bytes, half up, for values from 0 to 255.
void toHalf(const float* in, int64_t n, uint16_t* out);
void toBFloat(const float* in, int64_t n, uint16_t* out);
void toBytes(const float* in, int64_t n, uint8_t* out);

/// PIL's fixed point, across: n outputs of 3 channels; output i is sum over tap of weights[tap * n + i] x pixel
/// first[i] + tap.
void scaleAcross(const uint8_t* pixels, const int32_t* first, const int32_t* weights, int64_t taps, int64_t n,
                 uint8_t* out);
/// PIL's fixed point, down: `bytes` outputs; lines are `bytes` apart, weights[tap] is line tap's.
void scaleDown(const uint8_t* lines, const int32_t* weights, int64_t taps, int64_t bytes, uint8_t* out);

}  // namespace expc::data::rows
