// Decides whether an image can be streamed, and calls the loops. Compiled for plain x86-64; only stream_avx512.cpp
// needs the instructions.

#include "runtime/data/images/stream.h"

#include <vector>

#include "runtime/data/images/images.h"
#include "runtime/data/images/taps.h"

namespace expc::data {

bool stream::usable() {
#if defined(__x86_64__)
  // All parts of x86-64-v4 that the compiler may use in stream_avx512.cpp.
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("bmi2") &&
                          __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

#if defined(__x86_64__)
namespace {

/// Calls `write` with the output as a pointer of its type; false if stream.h has no loop for the type.
template <typename Write>
bool typed(Element element, void* out, Write write) {
  switch (element) {
    case Element::Float32:
      write(static_cast<float*>(out));
      return true;
    case Element::Float16:
      write(static_cast<stream::Half*>(out));
      return true;
    case Element::BFloat16:
      write(static_cast<stream::BFloat*>(out));
      return true;
    default:
      return false;
  }
}

/// The image's rows scaled across and mapped, channels last, in memory that the thread keeps.
const float* grownLines(const Pixels& image, const Taps& across) {
  constexpr int64_t kBehind = 32;  // growRow() reads that far behind the row
  static thread_local std::vector<float> line, lines;
  const int64_t width = across.outputs * kChannels;
  line.resize(image.cols + kBehind);
  if (lines.size() < size_t(image.rows * width)) lines.resize(image.rows * width);
  const rows::Affine<float> affine = rows::affineOf<float>(/*normalise=*/true);
  for (int64_t row = 0; row < image.rows; ++row) {
    stream::widen(image.data + row * image.cols, image.cols, line.data());
    stream::growRow(line.data(), across.first.data(), across.weights32.data(), across.width, across.outputs, affine,
                    lines.data() + row * width);
  }
  return lines.data();
}

/// Whether an axis grows or stays, so that each output needs at most two inputs.
bool grows(const Taps& taps) { return taps.outputs >= taps.inputs && taps.width <= 2; }

}  // namespace

bool streamColour(const Preparation& preparation, const uint8_t* pixels, void* out) {
  if (!stream::usable() || preparation.layout != Layout::Nhwc || preparation.channels != kChannels) return false;
  const int64_t elements = preparation.rows * preparation.cols * kChannels;
  if (preparation.element == Element::UInt8) {
    stream::copy(pixels, elements, static_cast<uint8_t*>(out));
    stream::finish();
    return true;
  }
  if (!preparation.normalise) return false;
  const bool done = typed(preparation.element, out, [&](auto* to) {
    stream::map(pixels, elements, rows::affineOf<float>(/*normalise=*/true), to);
  });
  stream::finish();
  return done;
}

bool streamGrey(const Preparation& preparation, const Pixels& image, const Taps& across, const Taps& down, void* out) {
  if (!stream::usable() || preparation.layout != Layout::Nhwc || preparation.channels != kChannels ||
      !preparation.normalise || !grows(across) || !grows(down))
    return false;
  const stream::Blend blend{down.first.data(), down.weights32.data(), down.width, preparation.rows};
  const bool done = typed(preparation.element, out, [&](auto* to) {
    stream::blendRows(grownLines(image, across), blend, preparation.cols * kChannels, to);
  });
  stream::finish();
  return done;
}

#else

bool streamColour(const Preparation&, const uint8_t*, void*) { return false; }
bool streamGrey(const Preparation&, const Pixels&, const Taps&, const Taps&, void*) { return false; }

#endif

}  // namespace expc::data
