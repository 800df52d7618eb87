#include "runtime/worker/data/scaler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace expc::data {
namespace {

std::vector<uint8_t> randomImage(int64_t pixels, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> image(static_cast<size_t>(pixels));
  for (auto& value : image) value = static_cast<uint8_t>(random());
  return image;
}

/// The textbook form: a source coordinate for each output pixel, clamped at the edges, four neighbours.
double bilinear(const std::vector<uint8_t>& image, int64_t rows, int64_t cols, int64_t size, int64_t y, int64_t x) {
  const auto at = [&](int64_t r, int64_t c) {
    return static_cast<double>(image[std::min(r, rows - 1) * cols + std::min(c, cols - 1)]);
  };
  const double sy = std::max(0.0, (y + 0.5) * rows / size - 0.5), sx = std::max(0.0, (x + 0.5) * cols / size - 0.5);
  const auto r = static_cast<int64_t>(sy), c = static_cast<int64_t>(sx);
  const double fy = sy - r, fx = sx - c;
  return (1 - fy) * ((1 - fx) * at(r, c) + fx * at(r, c + 1)) + fy * ((1 - fx) * at(r + 1, c) + fx * at(r + 1, c + 1));
}

TEST_CASE("enlarging equals the textbook form, in both layouts and types") {
  struct Shape {
    int64_t rows, cols, size;
  };
  for (const auto& [rows, cols, size] :
       {Shape{28, 28, 300}, Shape{8, 8, 32}, Shape{8, 8, 8}, Shape{5, 9, 31}, Shape{1, 1, 7}, Shape{1, 3, 3}}) {
    CAPTURE(rows);
    CAPTURE(size);
    const auto image = randomImage(rows * cols, 3);
    const int64_t plane = size * size;
    std::vector<double> planar(3 * plane), interleaved(3 * plane);
    std::vector<float> narrow(3 * plane);
    Scaler(rows, cols, size, Layout::Nchw).apply(image.data(), planar.data());
    Scaler(rows, cols, size, Layout::Nhwc).apply(image.data(), interleaved.data());
    Scaler(rows, cols, size, Layout::Nchw).apply(image.data(), narrow.data());
    double worst = 0, worst_narrow = 0, worst_layout = 0;
    for (int64_t i = 0; i < plane; ++i) {
      const double value = bilinear(image, rows, cols, size, i / size, i % size) / 255;
      for (int64_t c = 0; c < 3; ++c) {
        const double wanted = (value - kMean[c]) / kStd[c];
        worst = std::max(worst, std::abs(planar[c * plane + i] - wanted));
        worst_narrow = std::max(worst_narrow, std::abs(narrow[c * plane + i] - wanted));
        worst_layout = std::max(worst_layout, std::abs(planar[c * plane + i] - interleaved[3 * i + c]));
      }
    }
    CHECK(worst < 1e-12);
    CHECK(worst_narrow < 2e-6);
    CHECK(worst_layout < 1e-14);
  }
}

TEST_CASE("shrinking by a whole factor weighs every input pixel") {
  // A triangle of half-width 2 at centres 1, 3, 5, …: inner outputs are (1, 3, 3, 1) / 8 of four pixels each way.
  const int64_t n = 16, size = 8;
  const auto image = randomImage(n * n, 9);
  std::vector<double> out(3 * size * size);
  Scaler(n, n, size, Layout::Nchw).apply(image.data(), out.data());
  const double weights[4] = {0.125, 0.375, 0.375, 0.125};
  double sum = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) sum += weights[i] * weights[j] * image[(3 * 2 - 1 + i) * n + 4 * 2 - 1 + j];
  CHECK(out[3 * size + 4] == doctest::Approx((sum / 255 - kMean[0]) / kStd[0]).epsilon(1e-12));
}

TEST_CASE("a constant image stays constant at any size") {
  for (int64_t size : {1, 3, 17, 29, 64}) {
    const std::vector<uint8_t> image(28 * 20, 51);
    std::vector<double> out(3 * size * size);
    Scaler(28, 20, size, Layout::Nhwc).apply(image.data(), out.data());
    for (int64_t i = 0; i < 3 * size * size; ++i)
      REQUIRE(out[i] == doctest::Approx((0.2 - kMean[i % 3]) / kStd[i % 3]));
  }
}

}  // namespace
}  // namespace expc::data
