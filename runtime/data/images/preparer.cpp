// Prepares images: grey ones, colour ones, and tensors that were scaled in advance. Each way scales and maps row by row
// and hands rows to a Target, which knows the type and layout of the batch. Intermediate rows live in memory that each
// thread keeps, so no allocation happens per image.

#include "runtime/data/images/preparer.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "runtime/base/failure.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/row_kernels.h"
#include "runtime/data/images/stream.h"

namespace expc::data {
namespace {

constexpr size_t kTablesKept = 16;  // sizes of images whose filters are kept; filters of others are made again

/// Memory of at least so many elements that the thread keeps from image to image. Each `Use` is a buffer of its own.
template <typename T, int Use>
T* kept(int64_t elements) {
  static thread_local std::vector<T> memory;
  if (memory.size() < size_t(elements)) memory.resize(elements);
  return memory.data();
}

/// A filter's weights in the type of the computation.
template <typename T>
const std::vector<T>& weightsOf(const Taps& taps) {
  if constexpr (sizeof(T) == sizeof(float))
    return taps.weights32;
  else
    return taps.weights64;
}

/// The destination of prepared rows. Rows are computed as T, straight in the batch if that is its type, else in kept
/// memory, from which finish() converts them.
template <typename T>
class Target {
 public:
  Target(const Preparation& preparation, void* out)
      : element_(preparation.element),
        rows_(preparation.rows),
        n_(preparation.cols),
        channels_(preparation.channels),
        planar_(preparation.layout == Layout::Nchw || preparation.channels == 1),
        bytes_(int64_t(bytesOf(preparation.element))),
        out_(static_cast<char*>(out)) {
    direct_ = std::is_same_v<T, double> ? element_ == Element::Float64 : element_ == Element::Float32;
    if (!direct_) scratch_ = kept<T, 1>(channels_ * n_);
  }

  /// Whether each channel's row lies by itself.
  bool planar() const { return planar_; }

  /// The memory for row y: of channel c if rows are planar, else of all channels side by side.
  T* line(int64_t y, int64_t c) { return direct_ ? reinterpret_cast<T*>(place(y, c)) : scratch_ + c * n_; }
  /// Completes row y, whose line() has been filled.
  void finish(int64_t y) {
    if (direct_) return;
    for (int64_t c = 0; c < (planar_ ? channels_ : 1); ++c)
      convert(scratch_ + c * n_, planar_ ? n_ : channels_ * n_, place(y, c));
  }
  /// Completes row y with the same `values` in every channel. They are converted once and then copied.
  void finishEqual(int64_t y, const T* values) {
    char* first = place(y, 0);
    if (planar_ || channels_ == 1) {
      convert(values, n_, first);
      for (int64_t c = 1; c < channels_; ++c) std::memcpy(place(y, c), first, n_ * bytes_);
      return;
    }
    char* narrow = kept<char, 2>(n_ * bytes_);
    convert(values, n_, narrow);
    switch (bytes_) {
      case 1:
        return rows::triple(reinterpret_cast<const uint8_t*>(narrow), n_, reinterpret_cast<uint8_t*>(first));
      case 2:
        return rows::triple(reinterpret_cast<const uint16_t*>(narrow), n_, reinterpret_cast<uint16_t*>(first));
      case 4:
        return rows::triple(reinterpret_cast<const float*>(narrow), n_, reinterpret_cast<float*>(first));
      default:
        return rows::triple(reinterpret_cast<const double*>(narrow), n_, reinterpret_cast<double*>(first));
    }
  }

 private:
  /// The place of a row in the batch.
  char* place(int64_t y, int64_t c) const {
    const int64_t element = planar_ ? (c * rows_ + y) * n_ : y * n_ * channels_;
    return out_ + element * bytes_;
  }
  /// Converts n values to the batch's type.
  void convert(const T* values, int64_t n, char* out) const {
    if constexpr (std::is_same_v<T, double>) {
      std::memcpy(out, values, size_t(n) * sizeof(double));
    } else {
      switch (element_) {
        case Element::UInt8:
          return rows::toBytes(values, n, reinterpret_cast<uint8_t*>(out));
        case Element::Float16:
          return rows::toHalf(values, n, reinterpret_cast<uint16_t*>(out));
        case Element::BFloat16:
          return rows::toBFloat(values, n, reinterpret_cast<uint16_t*>(out));
        default:
          std::memcpy(out, values, size_t(n) * sizeof(float));
      }
    }
  }

  Element element_;
  int64_t rows_, n_, channels_;
  bool planar_, direct_ = false;
  int64_t bytes_;
  char* out_;
  T* scratch_ = nullptr;
};

/// Scales all rows of a grey image across. The result is not rounded.
template <typename T>
const T* greyLines(const Pixels& image, const Taps& across) {
  const int64_t n = across.outputs;
  T* lines = kept<T, 3>(image.rows * n);
  const std::vector<T>& weights = weightsOf<T>(across);
  for (int64_t row = 0; row < image.rows; ++row) {
    const uint8_t* in = image.data + row * image.cols;
    T* line = lines + row * n;
    for (int64_t x = 0; x < n; ++x) {
      T sum = 0;
      for (int64_t tap = 0; tap < across.width; ++tap)
        sum += weights[tap * n + x] * static_cast<T>(in[across.first[x] + tap]);
      line[x] = sum;
    }
  }
  return lines;
}

/// A row as the weighted sum of two lines of `n` values, the usual case of an axis that grows. If the filter has more
/// taps, they are summed first, and the sum is the only line.
template <typename T>
struct Pair {
  const T* a;
  const T* b;
  T wa, wb;

  Pair(const T* lines, const Taps& down, int64_t y, int64_t n) {
    const std::vector<T>& weights = weightsOf<T>(down);
    const T* line = lines + down.first[y] * n;
    if (down.width <= 2) {
      a = line;
      b = down.width == 2 ? line + n : line;
      wa = weights[y];
      wb = down.width == 2 ? weights[down.outputs + y] : T{0};
      return;
    }
    T* sums = kept<T, 4>(n);
    std::fill(sums, sums + n, T{0});
    for (int64_t tap = 0; tap < down.width; ++tap)
      rows::accumulate(line + tap * n, weights[tap * down.outputs + y], n, sums);
    a = b = sums;
    wa = 1;
    wb = 0;
  }
};

/// Prepares a grey image: all rows across first, then each output row as a blend of lines. The three branches differ in
/// what normalisation and layout let the inner loop do at once.
template <typename T>
void prepareGrey(const Preparation& preparation, const Pixels& image, const Taps& across, const Taps& down, void* out) {
  Target<T> target(preparation, out);
  const int64_t n = preparation.cols;
  const T* lines = greyLines<T>(image, across);
  const rows::Affine<T> map = rows::affineOf<T>(preparation.normalise);
  // Not normalised: all channels are equal, so one row is computed and copied.
  if (!preparation.normalise) {
    T* values = kept<T, 5>(n);
    for (int64_t y = 0; y < preparation.rows; ++y) {
      const Pair<T> pair(lines, down, y, n);
      rows::blend(pair.a, pair.b, pair.wa, pair.wb, n, values);
      target.finishEqual(y, values);
    }
  } else if (preparation.channels == 3 && target.planar()) {
    for (int64_t y = 0; y < preparation.rows; ++y) {
      const Pair<T> pair(lines, down, y, n);
      rows::blendPlanar(pair.a, pair.b, pair.wa, pair.wb, n, map, target.line(y, 0), target.line(y, 1),
                        target.line(y, 2));
      target.finish(y);
    }
  } else {
    // The weights of a filter sum up to 1, so lines can be normalised before they are blended. Then channels that lie
    // side by side need no shuffling in the loop over rows.
    const int64_t channels = preparation.channels, width = n * channels;
    T* mapped = kept<T, 6>(image.rows * width);
    for (int64_t i = 0; i < image.rows * n; ++i)
      for (int64_t c = 0; c < channels; ++c) mapped[i * channels + c] = lines[i] * map.scale[c] + map.shift[c];
    for (int64_t y = 0; y < preparation.rows; ++y) {
      const Pair<T> pair(mapped, down, y, width);
      rows::blend(pair.a, pair.b, pair.wa, pair.wb, width, target.line(y, 0));
      target.finish(y);
    }
  }
}

/// Scales a colour image as PIL does: across, then down, each rounded to 8 bits. Returns the image's own memory if it
/// has the right size already.
const uint8_t* scaledColour(const Pixels& image, const Taps& across, const Taps& down) {
  const uint8_t* pixels = image.data;
  const int64_t width = 3 * across.outputs;
  // PIL scales across first, over all rows of the input; the order decides the roundings.
  if (!across.same()) {
    uint8_t* lines = kept<uint8_t, 7>(image.rows * width);
    for (int64_t row = 0; row < image.rows; ++row)
      rows::scaleAcross(pixels + row * image.cols * 3, across.first.data(), across.fixed.data(), across.width,
                        across.outputs, lines + row * width);
    pixels = lines;
  }
  if (!down.same()) {
    uint8_t* result = kept<uint8_t, 8>(down.outputs * width);
    // The weights of one output row, gathered because taps are stored apart.
    std::vector<int32_t> weights(down.width);
    for (int64_t y = 0; y < down.outputs; ++y) {
      for (int64_t tap = 0; tap < down.width; ++tap) weights[tap] = down.fixed[tap * down.outputs + y];
      rows::scaleDown(pixels + down.first[y] * width, weights.data(), down.width, width, result + y * width);
    }
    pixels = result;
  }
  return pixels;
}

/// Writes scaled pixels as bytes.
void copyColour(const Preparation& preparation, const uint8_t* pixels, uint8_t* out) {
  const int64_t plane = preparation.rows * preparation.cols;
  if (preparation.layout == Layout::Nhwc)
    std::memcpy(out, pixels, 3 * plane);
  else
    rows::split(pixels, plane, out, out + plane, out + 2 * plane);
}

/// Maps scaled pixels to the batch's type and layout.
template <typename T>
void prepareColour(const Preparation& preparation, const uint8_t* pixels, void* out) {
  Target<T> target(preparation, out);
  const int64_t n = preparation.cols;
  const rows::Affine<T> map = rows::affineOf<T>(preparation.normalise);
  for (int64_t y = 0; y < preparation.rows; ++y) {
    const uint8_t* row = pixels + y * n * 3;
    if (target.planar())
      rows::mapPlanar(row, n, map, target.line(y, 0), target.line(y, 1), target.line(y, 2));
    else
      rows::mapInterleaved(row, n, map, target.line(y, 0));
    target.finish(y);
  }
}

/// Prepares an image that was scaled in advance: only the values change.
template <typename T>
void prepareTensor(const Preparation& preparation, const float* values, void* out) {
  Target<T> target(preparation, out);
  const int64_t n = preparation.cols, channels = preparation.channels;
  const rows::Affine<T> map = rows::affineOf<T>(preparation.normalise);
  for (int64_t y = 0; y < preparation.rows; ++y) {
    for (int64_t c = 0; c < channels; ++c) {
      const bool planar = target.planar();
      const int64_t step = planar ? 1 : channels;
      const float* in = values + (planar ? (c * preparation.rows + y) * n : y * n * channels + c);
      T* line = planar ? target.line(y, c) : target.line(y, 0) + c;
      for (int64_t x = 0; x < n; ++x) line[x * step] = static_cast<T>(in[x * step]) * map.scale[c] + map.shift[c];
    }
    target.finish(y);
  }
}

}  // namespace

/// The filters of both axes for one size of images.
struct Preparer::Tables {
  Taps across, down;
};

Preparer::Preparer(const Preparation& preparation, bool past_caches)
    : preparation_(preparation), past_caches_(past_caches) {
  assert(preparation.rows > 0 && preparation.cols > 0);
  assert(preparation.channels == 1 || preparation.channels == kChannels);
  // Normalised values do not fit into bytes; whoever asks for bytes normalises on the device.
  if (preparation_.element == Element::UInt8) preparation_.normalise = false;
}

Preparer::~Preparer() = default;

std::shared_ptr<const Preparer::Tables> Preparer::tables(int64_t rows, int64_t cols) const {
  {
    std::lock_guard lock(mutex_);
    for (const auto& known : recent_)
      if (known->down.inputs == rows && known->across.inputs == cols) return known;
  }
  // Made without the lock. Two threads may make the same filters, which does no harm.
  auto made =
      std::make_shared<const Tables>(Tables{makeTaps(cols, preparation_.cols), makeTaps(rows, preparation_.rows)});
  std::lock_guard lock(mutex_);
  if (recent_.size() == kTablesKept) recent_.pop_back();
  recent_.insert(recent_.begin(), made);
  return made;
}

Error Preparer::apply(const Pixels& image, void* out) const {
  if (image.rows < 1 || image.cols < 1 || (image.channels != 1 && image.channels != kChannels))
    return failure("an image of {} x {} pixels and {} channels, expected 1 or 3 channels", image.cols, image.rows,
                   image.channels);
  if (image.channels > preparation_.channels) return failure("a colour image where one channel is wanted");
  const bool wide = preparation_.element == Element::Float64;
  // An image that was scaled in advance (preload).
  if (image.tensor) {
    (wide ? prepareTensor<double> : prepareTensor<float>)(preparation_, image.tensor, out);
    return Error::success();
  }
  const auto shape = tables(image.rows, image.cols);
  if (image.channels == 1) {
    if (past_caches_ && streamGrey(preparation_, image, shape->across, shape->down, out)) return Error::success();
    (wide ? prepareGrey<double> : prepareGrey<float>)(preparation_, image, shape->across, shape->down, out);
    return Error::success();
  }
  const uint8_t* pixels = scaledColour(image, shape->across, shape->down);
  if (past_caches_ && streamColour(preparation_, pixels, out)) return Error::success();
  if (preparation_.element == Element::UInt8)
    copyColour(preparation_, pixels, static_cast<uint8_t*>(out));
  else
    (wide ? prepareColour<double> : prepareColour<float>)(preparation_, pixels, out);
  return Error::success();
}

Error Preparer::fill(const Images& images, int64_t index, void* out, std::vector<uint8_t>& scratch) const {
  const Preparation& want = preparation_;
  // A decoder writes bytes with channels last. If the batch wants just that and the size fits, nothing is left to do.
  const bool as_decoded = want.element == Element::UInt8 && (want.layout == Layout::Nhwc || want.channels == 1);
  auto pixels = TRY(
      as_decoded ? images.readInto(index, {want.rows, want.cols, want.channels}, static_cast<uint8_t*>(out), scratch)
                 : images.read(index, scratch));
  if (pixels.data == out) return Error::success();
  if (auto error = apply(pixels, out)) return failure("{}: {}", images.nameOf(index), std::move(error));
  return Error::success();
}

}  // namespace expc::data
