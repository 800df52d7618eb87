// The streaming loops. This file is compiled for x86-64-v4 and its functions are called only where the processor has
// the instructions. It must not use the standard library: an inline function of it, compiled here with AVX-512, could
// be the copy that the linker keeps for the whole program.
//
// All loops have the same frame, fill(): elements in front of the first whole cache line and behind the last one are
// written by plain stores, whole lines are streamed. A `make(i, which)` computes sixteen elements from i on, of which
// the mask `which` says how many are needed.

#include "runtime/data/images/stream.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace expc::data::stream {
namespace {

constexpr int64_t kLanes = 16;

/// The mask of the first n of sixteen elements; n is at most sixteen.
inline __mmask16 firstOf(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }

/// Rounds sixteen values to bfloat16, to nearest even; the result is in the upper halves.
inline __m512i roundedToUpper(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
  const __m512i up = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
  return _mm512_mask_add_epi32(up, odd, up, _mm512_set1_epi32(1));
}
/// Sixteen values in 16 bits each.
inline __m256i narrowed(__m512 values, BFloat) {
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(roundedToUpper(values), 16));
}
inline __m256i narrowed(__m512 values, Half) {
  return _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

/// Stores the elements that a mask names, by a plain store.
inline void storeSome(float* out, __m512 values, __mmask16 which) { _mm512_mask_storeu_ps(out, which, values); }
template <typename Narrow>
inline void storeSome(Narrow* out, __m512 values, __mmask16 which) {
  _mm256_mask_storeu_epi16(out, which, narrowed(values, Narrow()));
}

/// Streams a whole line of 64 bytes from element i on; returns the number of its elements.
template <typename Make>
inline int64_t streamLine(float* out, int64_t i, Make& make) {
  _mm512_stream_ps(out + i, make(i, static_cast<__mmask16>(0xffff)));
  return kLanes;
}
/// Thirty-two values in 16 bits each: a whole line.
inline __m512i joined(__m512 low, __m512 high, Half) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(narrowed(low, Half())), narrowed(high, Half()), 1);
}
inline __m512i joined(__m512 low, __m512 high, BFloat) {
  // Numbers of the upper halves among the 64 halves of both registers.
  const __m512i upper = _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27, 25,
                                         23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_permutex2var_epi16(roundedToUpper(low), upper, roundedToUpper(high));
}
template <typename Narrow, typename Make>
inline int64_t streamLine(Narrow* out, int64_t i, Make& make) {
  constexpr __mmask16 kAll = 0xffff;
  _mm512_stream_si512(reinterpret_cast<__m512i*>(out + i), joined(make(i, kAll), make(i + kLanes, kAll), Narrow()));
  return 2 * kLanes;
}

/// Elements of a line.
template <typename Out>
constexpr int64_t kLine = 64 / int64_t(sizeof(Out));

/// The elements of its line that lie in front of `place`.
template <typename Out>
inline int64_t before(const Out* place) {
  return int64_t(reinterpret_cast<uintptr_t>(place) % 64 / sizeof(Out));
}

/// Writes elements [from, to), as make(i, which) computes them, to `place` by plain stores.
template <typename Out, typename Make>
inline void plain(Out* place, int64_t from, int64_t to, Make& make) {
  for (int64_t i = from; i < to; i += kLanes) {
    const __mmask16 which = to - i >= kLanes ? static_cast<__mmask16>(0xffff) : firstOf(to - i);
    storeSome(place + (i - from), make(i, which), which);
  }
}

/// Writes n elements to `out`. Whole lines are streamed; the elements before the first and after the last are left to
/// part(from, to).
template <typename Out, typename Make, typename Part>
inline void fill(Out* out, int64_t n, Make make, Part part) {
  const int64_t past = before(out);
  int64_t i = past == 0 ? 0 : kLine<Out> - past;
  if (i > n) i = n;
  part(0, i);
  while (i + kLine<Out> <= n) i += streamLine(out, i, make);
  part(i, n);
}

/// The scales and shifts of sixteen elements, for each channel that the first of them may belong to: sixteen is no
/// multiple of three.
struct Pattern {
  alignas(64) float scale[3][kLanes];
  alignas(64) float shift[3][kLanes];

  explicit Pattern(const rows::Affine<float>& affine) {
    for (int64_t phase = 0; phase < 3; ++phase)
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        scale[phase][lane] = affine.scale[(phase + lane) % 3];
        shift[phase][lane] = affine.shift[(phase + lane) % 3];
      }
  }
};

}  // namespace

template <typename Out>
void map(const uint8_t* pixels, int64_t elements, const rows::Affine<float>& affine, Out* out) {
  const Pattern pattern(affine);
  const auto make = [&](int64_t i, __mmask16 which) {
    const int64_t phase = i % 3;
    const __m512 values = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(which, pixels + i)));
    return _mm512_fmadd_ps(values, _mm512_load_ps(pattern.scale[phase]), _mm512_load_ps(pattern.shift[phase]));
  };
  fill(out, elements, make, [&](int64_t from, int64_t to) { plain(out + from, from, to, make); });
}
template void map(const uint8_t*, int64_t, const rows::Affine<float>&, float*);
template void map(const uint8_t*, int64_t, const rows::Affine<float>&, Half*);
template void map(const uint8_t*, int64_t, const rows::Affine<float>&, BFloat*);

template <typename Out>
void blendRows(const float* lines, const Blend& down, int64_t n, Out* out) {
  // Rows follow each other without padding, so a line may belong to two rows. A plain store to it, right after
  // streaming its neighbours, would wait for the line to be read. It is put together here instead, and streamed when it
  // is complete.
  alignas(64) Out seam[kLine<Out>];
  const auto begin = reinterpret_cast<uintptr_t>(out), end = reinterpret_cast<uintptr_t>(out + down.rows * n);
  for (int64_t y = 0; y < down.rows; ++y) {
    const float* a = lines + down.first[y] * n;
    const float* b = down.taps == 2 ? a + n : a;
    const __m512 wa = _mm512_set1_ps(down.weights[y]);
    const __m512 wb = _mm512_set1_ps(down.taps == 2 ? down.weights[down.rows + y] : 0.0f);
    const auto make = [&](int64_t i, __mmask16 which) {
      const __m512 rest = _mm512_mul_ps(wb, _mm512_maskz_loadu_ps(which, b + i));
      return _mm512_fmadd_ps(wa, _mm512_maskz_loadu_ps(which, a + i), rest);
    };
    Out* row = out + y * n;
    fill(row, n, make, [&](int64_t from, int64_t to) {
      const int64_t past = before(row + from);
      const auto line = reinterpret_cast<uintptr_t>(row + from) - static_cast<uintptr_t>(past) * sizeof(Out);
      // The other part of the line belongs to another image and must not be overwritten.
      if (line < begin || line + 64 > end) return plain(row + from, from, to, make);
      plain(seam + past, from, to, make);
      if (past + to - from == kLine<Out>)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(line), _mm512_load_si512(seam));
    });
  }
}
template void blendRows(const float*, const Blend&, int64_t, float*);
template void blendRows(const float*, const Blend&, int64_t, Half*);
template void blendRows(const float*, const Blend&, int64_t, BFloat*);

void copy(const uint8_t* from, int64_t bytes, uint8_t* to) {
  const auto plain = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = from[i];
  };
  int64_t i = int64_t(-reinterpret_cast<uintptr_t>(to) % 64);
  if (i > bytes) i = bytes;
  plain(0, i);
  for (; i + 64 <= bytes; i += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
  plain(i, bytes);
}

void widen(const uint8_t* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const __mmask16 which = n - i >= kLanes ? static_cast<__mmask16>(0xffff) : firstOf(n - i);
    const __m512i values = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(which, from + i));
    _mm512_mask_storeu_ps(to + i, which, _mm512_cvtepi32_ps(values));
  }
}

void growRow(const float* line, const int32_t* first, const float* weights, int64_t taps, int64_t outputs,
             const rows::Affine<float>& affine, float* out) {
  const Pattern pattern(affine);
  alignas(64) int32_t thrice[3][kLanes];  // 0 0 0 1 1 1 2 2 2 …: each output three times, one for each channel
  for (int32_t i = 0; i < 3 * kLanes; ++i) thrice[i / kLanes][i % kLanes] = i / 3;
  for (int64_t x = 0; x < outputs; x += kLanes) {
    const int64_t count = outputs - x < kLanes ? outputs - x : kLanes;
    const __mmask16 which = firstOf(count);
    // Sixteen outputs of an axis that grows need at most 18 inputs, so two registers hold them all, and a permutation
    // picks each output's input.
    const float* from = line + first[x];
    const __m512 low = _mm512_loadu_ps(from), high = _mm512_loadu_ps(from + kLanes);
    __m512i place = _mm512_sub_epi32(_mm512_maskz_loadu_epi32(which, first + x), _mm512_set1_epi32(first[x]));
    __m512 sum = _mm512_setzero_ps();
    for (int64_t tap = 0; tap < taps; ++tap) {
      const __m512 weight = _mm512_maskz_loadu_ps(which, weights + tap * outputs + x);
      sum = _mm512_fmadd_ps(weight, _mm512_permutex2var_ps(low, place, high), sum);
      place = _mm512_add_epi32(place, _mm512_set1_epi32(1));
    }
    // Sixteen outputs give 48 elements: three registers.
    for (int64_t part = 0; part < 3; ++part) {
      const int64_t left = 3 * count - part * kLanes;
      if (left <= 0) break;
      const int64_t phase = part * kLanes % 3;
      const __m512 values = _mm512_permutexvar_ps(_mm512_load_si512(thrice[part]), sum);
      const __m512 mapped =
          _mm512_fmadd_ps(values, _mm512_load_ps(pattern.scale[phase]), _mm512_load_ps(pattern.shift[phase]));
      _mm512_mask_storeu_ps(out + 3 * x + part * kLanes, left >= kLanes ? 0xffff : firstOf(left), mapped);
    }
  }
}

void finish() { _mm_sfence(); }

}  // namespace expc::data::stream

#endif
