#include "runtime/data/images/preparer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "runtime/data/images/row_kernels.h"

namespace expc::data {
namespace {

std::vector<uint8_t> randomImage(int64_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> image(static_cast<size_t>(bytes));
  for (auto& value : image) value = uint8_t(random());
  return image;
}

template <typename T>
std::vector<T> prepared(const Preparation& preparation, const Pixels& image) {
  std::vector<T> out(preparation.imageBytes() / sizeof(T));
  cantFail(Preparer(preparation).apply(image, out.data()));
  return out;
}

/// The textbook form: a source coordinate for each output pixel, clamped at the edges, four neighbours.
double bilinear(const std::vector<uint8_t>& image, int64_t rows, int64_t cols, int64_t size, int64_t y, int64_t x) {
  const auto at = [&](int64_t r, int64_t c) {
    return double(image[std::min(r, rows - 1) * cols + std::min(c, cols - 1)]);
  };
  const double sy = std::max(0.0, (y + 0.5) * rows / size - 0.5), sx = std::max(0.0, (x + 0.5) * cols / size - 0.5);
  const auto r = int64_t(sy), c = int64_t(sx);
  const double fy = sy - r, fx = sx - c;
  return (1 - fy) * ((1 - fx) * at(r, c) + fx * at(r, c + 1)) + fy * ((1 - fx) * at(r + 1, c) + fx * at(r + 1, c + 1));
}

TEST_CASE("enlarging a grey image equals the textbook form, in both layouts and types") {
  struct Case {
    int64_t rows, cols, size;
  };
  for (const auto& [rows, cols, size] :
       {Case{28, 28, 300}, Case{8, 8, 32}, Case{8, 8, 8}, Case{5, 9, 31}, Case{1, 1, 7}, Case{1, 3, 3}}) {
    CAPTURE(rows);
    CAPTURE(size);
    const auto image = randomImage(rows * cols, 3);
    const Pixels pixels{image.data(), rows, cols, 1};
    const int64_t plane = size * size;
    const auto planar = prepared<double>({size, size, 3, Layout::Nchw, Element::Float64}, pixels);
    const auto interleaved = prepared<double>({size, size, 3, Layout::Nhwc, Element::Float64}, pixels);
    const auto narrow = prepared<float>({size, size, 3, Layout::Nchw, Element::Float32}, pixels);
    const auto narrow_interleaved = prepared<float>({size, size, 3, Layout::Nhwc, Element::Float32}, pixels);
    double worst = 0, worst_narrow = 0;
    for (int64_t i = 0; i < plane; ++i) {
      const double value = bilinear(image, rows, cols, size, i / size, i % size) / 255;
      for (int64_t c = 0; c < 3; ++c) {
        const double wanted = (value - kMean[c]) / kStd[c];
        worst = std::max({worst, std::abs(planar[c * plane + i] - wanted), std::abs(interleaved[3 * i + c] - wanted)});
        worst_narrow = std::max(
            {worst_narrow, std::abs(narrow[c * plane + i] - wanted), std::abs(narrow_interleaved[3 * i + c] - wanted)});
      }
    }
    CHECK(worst < 1e-12);
    CHECK(worst_narrow < 2e-6);
  }
}

TEST_CASE("shrinking by a whole factor weighs every input pixel") {
  // A triangle of half-width 2 at centres 1, 3, 5, …: inner outputs are (1, 3, 3, 1) / 8 of four pixels each way.
  const int64_t n = 16, size = 8;
  const auto image = randomImage(n * n, 9);
  const auto out = prepared<double>({size, size, 3, Layout::Nchw, Element::Float64}, {image.data(), n, n, 1});
  const double weights[4] = {0.125, 0.375, 0.375, 0.125};
  double sum = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sum += weights[i] * weights[j] * image[(3 * 2 - 1 + i) * n + 4 * 2 - 1 + j];
  CHECK(out[3 * size + 4] == doctest::Approx((sum / 255 - kMean[0]) / kStd[0]).epsilon(1e-12));
}

TEST_CASE("a constant image stays constant at any size") {
  for (int64_t channels : {1, 3}) {
    for (int64_t size : {1, 3, 17, 29, 64}) {
      const std::vector<uint8_t> image(28 * 20 * channels, 51);
      const auto out =
          prepared<double>({size, size, 3, Layout::Nhwc, Element::Float64}, {image.data(), 28, 20, channels});
      for (int64_t i = 0; i < 3 * size * size; ++i)
        REQUIRE(out[i] == doctest::Approx((0.2 - kMean[i % 3]) / kStd[i % 3]));
    }
  }
}

float fromHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  const float magnitude =
      exponent == 0 ? std::ldexp(float(mantissa), -24) : std::ldexp(float(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST_CASE("every element type, layout and channel count holds the same image") {
  const int64_t rows = 13, cols = 9;
  for (int64_t channels : {int64_t{1}, int64_t{3}}) {
    const auto image = randomImage(rows * cols * channels, 21);
    const Pixels pixels{image.data(), rows, cols, channels};
    for (int64_t kept : {int64_t{1}, int64_t{3}}) {
      if (kept < channels) continue;
      for (const Layout layout : {Layout::Nchw, Layout::Nhwc}) {
        for (const bool normalise : {true, false}) {
          for (const auto& [out_rows, out_cols] :
               {std::pair<int64_t, int64_t>{rows, cols}, {31, 40}, {5, 6}, {20, 4}}) {
            CAPTURE(channels);
            CAPTURE(kept);
            CAPTURE(normalise);
            CAPTURE(out_cols);
            Preparation want{out_rows, out_cols, kept, layout, Element::Float64, normalise};
            const auto exact = prepared<double>(want, pixels);
            want.element = Element::Float32;
            const auto single = prepared<float>(want, pixels);
            want.element = Element::Float16;
            const auto half = prepared<uint16_t>(want, pixels);
            want.element = Element::BFloat16;
            const auto brain = prepared<uint16_t>(want, pixels);
            const double unit = normalise ? 1.0 : 255.0;
            for (size_t i = 0; i < exact.size(); ++i) {
              REQUIRE(std::abs(single[i] - exact[i]) < 2e-6 * unit);
              REQUIRE(std::abs(fromHalf(half[i]) - exact[i]) <= std::abs(exact[i]) / 2048 + 2e-6 * unit);
              const auto wide = std::bit_cast<float>(uint32_t(brain[i]) << 16);
              REQUIRE(std::abs(wide - exact[i]) <= std::abs(exact[i]) / 256 + 2e-6 * unit);
            }
            if (normalise) continue;
            want.element = Element::UInt8;
            const auto bytes = prepared<uint8_t>(want, pixels);
            for (size_t i = 0; i < exact.size(); ++i) REQUIRE(std::abs(bytes[i] - exact[i]) <= 0.5001);
          }
        }
      }
    }
  }
}

TEST_CASE("layouts are transposes of each other") {
  const int64_t rows = 7, cols = 11, size = 18;
  const auto image = randomImage(rows * cols * 3, 4);
  const auto planar = prepared<uint8_t>({size, size, 3, Layout::Nchw, Element::UInt8}, {image.data(), rows, cols, 3});
  const auto inter = prepared<uint8_t>({size, size, 3, Layout::Nhwc, Element::UInt8}, {image.data(), rows, cols, 3});
  for (int64_t i = 0; i < size * size; ++i)
    for (int64_t c = 0; c < 3; ++c) REQUIRE(planar[c * size * size + i] == inter[3 * i + c]);
}

TEST_CASE("half precision rounds to nearest even over the whole range") {
  const float values[] = {0.0f,     -0.0f,         1.0f,  -2.5f, 65504.0f, 65519.0f, 65520.0f,  1e9f,     6.1e-5f,
                          5.96e-8f, 2.9802322e-8f, 3e-8f, 1e-9f, 2049.0f,  2051.0f,  0.333333f, -1.9e-6f, 6.0976e-5f};
  const uint16_t wanted[] = {0x0000, 0x8000, 0x3c00, 0xc100, 0x7bff, 0x7bff, 0x7c00, 0x7c00, 0x03ff,
                             0x0001, 0x0000, 0x0001, 0x0000, 0x6800, 0x6802, 0x3555, 0x8020, 0x03ff};
  uint16_t out[std::size(values)];
  rows::toHalf(values, std::size(values), out);
  for (size_t i = 0; i < std::size(values); ++i) {
    CAPTURE(values[i]);
    CHECK(out[i] == wanted[i]);
  }
}

TEST_CASE("what does not fit is refused") {
  const std::vector<uint8_t> image(48, 0);
  std::vector<float> out(3 * 16);
  const auto refusal = [&](int64_t kept, const Pixels& pixels) {
    return toString(Preparer({4, 4, kept, Layout::Nchw, Element::Float32}).apply(pixels, out.data()));
  };
  CHECK(refusal(1, {image.data(), 4, 4, 3}).find("one channel is wanted") != std::string::npos);
  CHECK(refusal(3, {image.data(), 4, 4, 2}).find("2 channels") != std::string::npos);
  CHECK(refusal(3, {image.data(), 0, 4, 3}).find("4 x 0 pixels") != std::string::npos);
}

TEST_CASE("threads share a preparer whose images differ in shape") {
  const Preparer preparer({10, 10, 3, Layout::Nhwc, Element::Float32});
  const auto image = randomImage(60 * 60 * 3, 8);
  std::vector<std::vector<float>> wanted(40);
  const auto run = [&](int64_t side, std::vector<float>& out) {
    out.resize(300);
    cantFail(preparer.apply({image.data(), side, 60, side % 2 == 0 ? 3 : 1}, out.data()));
  };
  for (int64_t side = 1; side < 40; ++side) run(side, wanted[side]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> out;
      for (int i = 0; i < 200; ++i) {
        const int64_t side = 1 + (i * 7 + t * 11) % 39;
        run(side, out);
        wrong += out != wanted[side];
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace expc::data
