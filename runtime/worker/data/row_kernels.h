#pragma once

// The inner loops of preparing images, each over one row; compiled for several instruction sets, chosen when the
// program starts. Pointers never overlap.

#include <cstdint>

#include "runtime/worker/data/preparation.h"

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
void blend(const float* a, const float* b, float wa, float wb, int64_t n, float* out);
void blend(const double* a, const double* b, double wa, double wb, int64_t n, double* out);

/// The same, written three times as the map of each channel says.
void blendPlanar(const float* a, const float* b, float wa, float wb, int64_t n, const Affine<float>& map, float* red,
                 float* green, float* blue);
void blendPlanar(const double* a, const double* b, double wa, double wb, int64_t n, const Affine<double>& map,
                 double* red, double* green, double* blue);

/// sums += weight line
void accumulate(const float* line, float weight, int64_t n, float* sums);
void accumulate(const double* line, double weight, int64_t n, double* sums);

/// n red, green, blue pixels -> mapped, three planes or one row of 3 n.
void mapPlanar(const uint8_t* pixels, int64_t n, const Affine<float>& map, float* red, float* green, float* blue);
void mapPlanar(const uint8_t* pixels, int64_t n, const Affine<double>& map, double* red, double* green, double* blue);
void mapInterleaved(const uint8_t* pixels, int64_t n, const Affine<float>& map, float* out);
void mapInterleaved(const uint8_t* pixels, int64_t n, const Affine<double>& map, double* out);

/// n red, green, blue pixels into three planes.
void split(const uint8_t* pixels, int64_t n, uint8_t* red, uint8_t* green, uint8_t* blue);

/// Each of n elements three times, one after the other.
void triple(const uint8_t* in, int64_t n, uint8_t* out);
void triple(const uint16_t* in, int64_t n, uint16_t* out);
void triple(const float* in, int64_t n, float* out);
void triple(const double* in, int64_t n, double* out);

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
