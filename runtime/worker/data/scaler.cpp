#include "runtime/worker/data/scaler.h"

#include <algorithm>
#include <cassert>
#include <cmath>

// The inner loops are compiled once for each of these and chosen when the program starts.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define EXPC_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EXPC_CLONES
#endif

namespace expc::data {
namespace {

/// v = wa a[x] + wb b[x]; each channel's result is v scale[c] + shift[c].
template <typename T>
struct Blend {
  const T* __restrict a;
  const T* __restrict b;
  T wa, wb;
  T scale[kChannels], shift[kChannels];
  int64_t n;
};

template <typename T>
__attribute__((always_inline)) inline void blendPlanar(const Blend<T>& in, T* __restrict red, T* __restrict green,
                                                       T* __restrict blue) {
  for (int64_t x = 0; x < in.n; ++x) {
    const T v = in.wa * in.a[x] + in.wb * in.b[x];
    red[x] = v * in.scale[0] + in.shift[0];
    green[x] = v * in.scale[1] + in.shift[1];
    blue[x] = v * in.scale[2] + in.shift[2];
  }
}

template <typename T>
__attribute__((always_inline)) inline void blendInterleaved(const Blend<T>& in, T* __restrict out) {
  for (int64_t x = 0; x < in.n; ++x) {
    const T v = in.wa * in.a[x] + in.wb * in.b[x];
    out[3 * x] = v * in.scale[0] + in.shift[0];
    out[3 * x + 1] = v * in.scale[1] + in.shift[1];
    out[3 * x + 2] = v * in.scale[2] + in.shift[2];
  }
}

EXPC_CLONES void planar(const Blend<float>& in, float* red, float* green, float* blue) {
  blendPlanar(in, red, green, blue);
}
EXPC_CLONES void planar(const Blend<double>& in, double* red, double* green, double* blue) {
  blendPlanar(in, red, green, blue);
}
EXPC_CLONES void interleaved(const Blend<float>& in, float* out) { blendInterleaved(in, out); }
EXPC_CLONES void interleaved(const Blend<double>& in, double* out) { blendInterleaved(in, out); }

template <typename T>
const std::vector<T>& weightsOf(const std::vector<float>& narrow, const std::vector<double>& wide) {
  if constexpr (sizeof(T) == sizeof(float))
    return narrow;
  else
    return wide;
}

}  // namespace

Scaler::Scaler(int64_t rows, int64_t cols, int64_t size, Layout layout)
    : rows_(rows),
      cols_(cols),
      size_(size),
      layout_(layout),
      across_(makeTable(cols, size)),
      down_(makeTable(rows, size)) {
  assert(rows > 0 && cols > 0 && size > 0);
}

Scaler::Table Scaler::makeTable(int64_t inputs, int64_t outputs) {
  // Triangle filter around the output's centre, its half-width one input pixel, or `scale` of them when shrinking.
  const double scale = static_cast<double>(inputs) / static_cast<double>(outputs);
  const double support = std::max(scale, 1.0);
  std::vector<int64_t> begin(outputs), end(outputs);
  Table table;
  for (int64_t i = 0; i < outputs; ++i) {
    const double centre = scale * (static_cast<double>(i) + 0.5);
    begin[i] = std::max<int64_t>(0, static_cast<int64_t>(centre - support + 0.5));
    end[i] = std::min<int64_t>(inputs, static_cast<int64_t>(centre + support + 0.5));
    table.width = std::max(table.width, end[i] - begin[i]);
  }
  table.first.resize(outputs);
  table.weights64.assign(outputs * table.width, 0.0);
  for (int64_t i = 0; i < outputs; ++i) {
    // Every output reads `width` inputs; where it needs fewer, the others weigh nothing.
    const int64_t first = std::min(begin[i], inputs - table.width);
    table.first[i] = static_cast<int32_t>(first);
    const double centre = scale * (static_cast<double>(i) + 0.5);
    double sum = 0;
    for (int64_t j = begin[i]; j < end[i]; ++j) {
      const double weight = std::max(0.0, 1.0 - std::abs((static_cast<double>(j) - centre + 0.5) / support));
      table.weights64[(j - first) * outputs + i] = weight;
      sum += weight;
    }
    for (int64_t j = begin[i]; j < end[i]; ++j) table.weights64[(j - first) * outputs + i] /= sum;
  }
  table.weights32.assign(table.weights64.begin(), table.weights64.end());
  return table;
}

template <typename T>
void Scaler::run(const uint8_t* image, T* out) const {
  const int64_t n = size_;
  // Rows of the image scaled across, then one row for sums down when more than two rows meet. Kept: nothing is
  // allocated twice.
  static thread_local std::vector<T> scratch;
  scratch.resize(static_cast<size_t>((rows_ + 1) * n));
  const std::vector<T>& across = weightsOf<T>(across_.weights32, across_.weights64);
  for (int64_t row = 0; row < rows_; ++row) {
    const uint8_t* in = image + row * cols_;
    T* line = scratch.data() + row * n;
    for (int64_t x = 0; x < n; ++x) {
      T sum = 0;
      for (int64_t tap = 0; tap < across_.width; ++tap)
        sum += across[tap * n + x] * static_cast<T>(in[across_.first[x] + tap]);
      line[x] = sum;
    }
  }

  const std::vector<T>& down = weightsOf<T>(down_.weights32, down_.weights64);
  T* sums = scratch.data() + rows_ * n;
  Blend<T> blend{};
  blend.n = n;
  for (int64_t c = 0; c < kChannels; ++c) {
    blend.scale[c] = static_cast<T>(1.0 / (255.0 * kStd[c]));
    blend.shift[c] = static_cast<T>(-kMean[c] / kStd[c]);
  }
  for (int64_t y = 0; y < n; ++y) {
    const T* line = scratch.data() + down_.first[y] * n;
    if (down_.width <= 2) {
      blend.a = line;
      blend.b = down_.width == 2 ? line + n : line;
      blend.wa = down[y];
      blend.wb = down_.width == 2 ? down[n + y] : T{0};
    } else {
      std::fill(sums, sums + n, T{0});
      for (int64_t tap = 0; tap < down_.width; ++tap) {
        const T weight = down[tap * n + y];
        for (int64_t x = 0; x < n; ++x) sums[x] += weight * line[tap * n + x];
      }
      blend.a = blend.b = sums;
      blend.wa = 1;
      blend.wb = 0;
    }
    if (layout_ == Layout::Nhwc)
      interleaved(blend, out + y * n * kChannels);
    else
      planar(blend, out + y * n, out + (n + y) * n, out + (2 * n + y) * n);
  }
}

void Scaler::apply(const uint8_t* image, float* out) const { run(image, out); }
void Scaler::apply(const uint8_t* image, double* out) const { run(image, out); }

}  // namespace expc::data
