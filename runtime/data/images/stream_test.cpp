#include "runtime/data/images/stream.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "runtime/data/images/preparer.h"

namespace expc::data {
namespace {

/// The value of element i, for any type.
double valueAt(const std::vector<char>& memory, Element element, size_t i) {
  const char* at = memory.data() + i * bytesOf(element);
  if (element == Element::UInt8) return uint8_t(*at);
  if (element == Element::Float32) {
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  if (element == Element::BFloat16) return std::bit_cast<float>(uint32_t(bits) << 16);
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  const double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

/// Compares an image written by plain stores with the same image written by streaming stores, which begins `shift`
/// elements behind the start of a cache line.
void compare(const Preparation& preparation, const Pixels& image, size_t shift) {
  const Element element = preparation.element;
  const size_t bytes = preparation.imageBytes(), unit = bytesOf(element), before = shift * unit;
  std::vector<char> plain(bytes), memory(bytes + 256, 'x');
  const auto begin = size_t(-reinterpret_cast<uintptr_t>(memory.data()) % 64) + before;
  REQUIRE(!bool(Preparer(preparation).apply(image, plain.data())));
  REQUIRE(!bool(Preparer(preparation, true).apply(image, memory.data() + begin)));
  for (size_t i = 0; i < memory.size(); ++i)
    if (i < begin || i >= begin + bytes) REQUIRE(memory[i] == 'x');
  const std::vector<char> streamed(memory.begin() + long(begin), memory.begin() + long(begin + bytes));
  // A difference in the last bit of fp32 may change how a narrower type is rounded.
  const double tolerance = element == Element::Float32 ? 2e-6 : element == Element::UInt8 ? 0 : 0.02;
  double largest = 0;
  for (size_t i = 0; i < bytes / unit; ++i)
    largest = std::max(largest, std::abs(valueAt(plain, element, i) - valueAt(streamed, element, i)));
  CHECK(largest <= tolerance);
}

TEST_CASE("stores past the caches write what plain ones do") {
  if (!stream::usable()) {
    MESSAGE("this processor has no AVX-512");
    return;
  }
  std::mt19937 random(3);
  for (int64_t channels : {1, 3})
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{28, 28}, {1, 1}, {5, 17}, {16, 3}, {40, 33}}) {
      std::vector<uint8_t> pixels(size_t(rows * cols * channels));
      for (uint8_t& pixel : pixels) pixel = uint8_t(random());
      const Pixels image{pixels.data(), rows, cols, channels};
      for (Element element : {Element::Float32, Element::BFloat16, Element::Float16, Element::UInt8})
        for (auto [to_rows, to_cols] : {std::pair<int64_t, int64_t>{rows, cols}, {50, 57}, {33, 100}, {7, 9}})
          for (size_t shift : {0, 1, 5, 15, 31}) {
            Preparation preparation;
            preparation.rows = to_rows;
            preparation.cols = to_cols;
            preparation.layout = Layout::Nhwc;
            preparation.element = element;
            preparation.normalise = element != Element::UInt8;
            compare(preparation, image, shift);
          }
    }
}

}  // namespace
}  // namespace expc::data
