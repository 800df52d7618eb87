#pragma once

// The last step of preparing an image by stores that bypass the caches, for batches larger than the caches. A plain
// store reads its cache line first and evicts another one; streaming does neither. AVX-512 only: there one store fills
// a whole line of 64 bytes, and a line that is streamed in parts costs more than plain stores.
//
// The first two functions are the interface to the preparer; the loops below, in stream_avx512.cpp, may only be called
// if usable().

#include <cstddef>
#include <cstdint>

#include "runtime/data/images/row_kernels.h"

namespace expc::data {

struct Pixels;
struct Taps;

/// Writes scaled red, green, blue pixels. It can do so if the batch has channels last and its elements are bytes, or
/// normalised fp32, fp16 or bf16. Returns false, with nothing written, if it cannot or the processor lacks the
/// instructions.
bool streamColour(const Preparation& preparation, const uint8_t* pixels, void* out);

/// Scales and writes a grey image that grows, or stays, along both axes, into three normalised channels, channels last.
/// Equal to the plain form except for the last bit of a float. Returns false as streamColour() does.
bool streamGrey(const Preparation& preparation, const Pixels& image, const Taps& across, const Taps& down, void* out);

}  // namespace expc::data

// The loops behind these functions.
namespace expc::data::stream {

/// Whether this processor has the instructions. Nothing below may be called otherwise.
bool usable();

/// The size of all batches, in bytes, from which streaming pays off: more than a rank can hope to keep in the
/// last-level cache. A constant, since virtual machines and shared sockets do not tell the size of that cache.
inline constexpr size_t kWorthwhile = size_t{16} << 20;

/// 16-bit elements as bits. The types choose the conversion.
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};

/// Maps `elements` bytes, red, green, blue, red, …, as rows::mapInterleaved() does. Out is float, Half or BFloat.
template <typename Out>
void map(const uint8_t* pixels, int64_t elements, const rows::Affine<float>& affine, Out* out);

/// How rows are made from lines: row y from the `taps` (1 or 2) lines from first[y] on, with the weights weights[tap *
/// rows + y].
struct Blend {
  const int32_t* first;
  const float* weights;
  int64_t taps, rows;
};

/// Writes all rows of n elements, one behind the other, each as by rows::blend().
template <typename Out>
void blendRows(const float* lines, const Blend& down, int64_t n, Out* out);

/// Copies bytes.
void copy(const uint8_t* from, int64_t bytes, uint8_t* to);

/// Scales a row of a grey image across and maps it, by plain stores: `outputs` x 3 values. Output i is made from the
/// `taps` (1 or 2) inputs from first[i] on, with the weights weights[tap * outputs + i]. `line` is the row as floats,
/// followed by 32 more that may be read.
void growRow(const float* line, const int32_t* first, const float* weights, int64_t taps, int64_t outputs,
             const rows::Affine<float>& affine, float* out);

/// Converts bytes to floats, by plain stores.
void widen(const uint8_t* from, int64_t n, float* to);

/// Orders the streamed stores before all later ones. Without it another thread that learns of the finished batch might
/// not see them.
void finish();

}  // namespace expc::data::stream
