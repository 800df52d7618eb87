#pragma once

// The last step of preparing an image, by stores that go past the caches: for batches that are larger than these. What
// is overwritten is not read first, and nothing else is thrown out. AVX-512 only: there one store is a whole cache
// line, and a line that is written in part costs more than a plain store.

#include <cstddef>
#include <cstdint>

#include "runtime/data/images/row_kernels.h"

namespace expc::data {

struct Pixels;
struct Taps;

/// Writes scaled red, green, blue pixels as `preparation` says if that is channels last and bytes, or normalised to
/// fp32, fp16 or bf16. False: it is not, or the processor lacks the instructions, and nothing was written.
bool streamColour(const Preparation& preparation, const uint8_t* pixels, void* out);

/// The same from a grey image that grows, or stays, along both axes, into three normalised channels. Equal to the plain
/// form but for the last bit of a float.
bool streamGrey(const Preparation& preparation, const Pixels& image, const Taps& across, const Taps& down, void* out);

}  // namespace expc::data

// Their loops.
namespace expc::data::stream {

/// Whether this processor has the instructions; of what follows nothing else may be called without.
bool usable();

/// Bytes of batches from which on they should be written this way: more than a rank can hope to keep of the last cache,
/// whose size virtual machines and shared sockets do not tell.
inline constexpr size_t kWorthwhile = size_t{16} << 20;

/// 16-bit elements by their bits.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

/// As rows::mapInterleaved, over `elements` bytes red, green, blue, red, … Out: float, Half or BFloat.
template <typename Out>
void map(const uint8_t* pixels, int64_t elements, const rows::Affine<float>& affine, Out* out);

/// How rows are made of lines: row y of the `taps` (1 or 2) lines from first[y], weights[tap * rows + y] of each.
struct Blend {
  const int32_t* first;
  const float* weights;
  int64_t taps, rows;
};

/// Rows of n elements, one behind the other. Each as rows::blend.
template <typename Out>
void blendRows(const float* lines, const Blend& down, int64_t n, Out* out);

void copy(const uint8_t* from, int64_t bytes, uint8_t* to);

/// A row of a grey image that grows: `outputs` x 3 mapped values by plain stores. Output i is made of the `taps` (1 or
/// 2) inputs from first[i], weights[tap * outputs + i] of each. `line` is the row as floats with 32 more after it.
void growRow(const float* line, const int32_t* first, const float* weights, int64_t taps, int64_t outputs,
             const rows::Affine<float>& affine, float* out);

/// Bytes to floats, by plain stores.
void widen(const uint8_t* from, int64_t n, float* to);

/// What was written is seen by whoever is told afterwards.
void finish();

}  // namespace expc::data::stream
