#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "runtime/base/failure.h"
#include "runtime/worker/data/memory_images.h"

namespace expc::data {
namespace {

constexpr int kSide = 28;
constexpr int kClasses = 10;
constexpr int kSpots = 3;
constexpr int kRadius = 5;

struct Spot {
  int row, col;
};

// Whole-number arithmetic only, and raw generator words instead of distributions (which differ between libraries), so
// that the bytes are the same everywhere.
int below(std::mt19937& random, int bound) { return static_cast<int>(random() % static_cast<uint32_t>(bound)); }

using Pattern = std::array<Spot, kSpots>;

std::array<Pattern, kClasses> patterns() {
  std::mt19937 random(20051);  // fixed: a class looks the same whatever the seed
  std::array<Pattern, kClasses> result;
  for (auto& pattern : result)
    for (auto& spot : pattern) spot = {4 + below(random, kSide - 8), 4 + below(random, kSide - 8)};
  return result;
}

void paint(const Pattern& pattern, std::mt19937& random, uint8_t* image) {
  const int shift_row = below(random, 5) - 2, shift_col = below(random, 5) - 2;
  for (int row = 0; row < kSide; ++row) {
    for (int col = 0; col < kSide; ++col) {
      int value = below(random, 64);
      for (const Spot& spot : pattern) {
        const int dr = row - spot.row - shift_row, dc = col - spot.col - shift_col;
        value += std::max(0, 190 * (kRadius * kRadius - dr * dr - dc * dc) / (kRadius * kRadius));
      }
      image[row * kSide + col] = static_cast<uint8_t>(std::min(value, 255));
    }
  }
}

std::unique_ptr<Images> make(int64_t count, uint32_t seed, const char* name) {
  std::vector<uint8_t> pixels(static_cast<size_t>(count) * kSide * kSide), labels(static_cast<size_t>(count));
  const auto shapes = patterns();
  std::mt19937 random(seed);
  for (int64_t i = 0; i < count; ++i) {
    labels[i] = static_cast<uint8_t>(i % kClasses);
    paint(shapes[i % kClasses], random, pixels.data() + i * kSide * kSide);
  }
  return std::make_unique<MemoryImages>(name, kSide, kSide, std::move(pixels), std::move(labels), kClasses);
}

}  // namespace

llvm::Expected<ImageSets> synthetic(int64_t count, uint32_t seed) {
  constexpr int64_t kMost = 10'000'000;
  if (count < 1 || count > kMost) return base::failure("synthetic({}): expected 1 to {} images", count, kMost);
  return ImageSets{make(count, seed, "synthetic, training"),
                   make(std::max<int64_t>(kClasses, count / 5), seed ^ 0x9e3779b9u, "synthetic, test")};
}

}  // namespace expc::data
