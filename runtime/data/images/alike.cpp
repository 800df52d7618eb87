#include "runtime/data/images/alike.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

namespace expc::data {

uint64_t digestOf(const Pixels& pixels) {
  const auto bytes = size_t(pixels.rows * pixels.cols * pixels.channels);
  const uint64_t hash = std::hash<std::string_view>()({reinterpret_cast<const char*>(pixels.data), bytes});
  // The bytes alone do not tell 2 x 6 from 3 x 4 pixels.
  return hash ^ (uint64_t(pixels.rows) << 32 | uint64_t(pixels.cols));
}

int64_t countAmong(const std::vector<uint64_t>& some, const std::vector<uint64_t>& all) {
  const std::unordered_set<uint64_t> known(all.begin(), all.end());
  return std::ranges::count_if(some, [&](uint64_t digest) { return known.contains(digest); });
}

int64_t countAlike(const ImageSets& sets) {
  std::vector<uint64_t> test, train;
  std::vector<uint8_t> scratch;
  const auto add = [&](const Images& images, std::vector<uint64_t>& to) {
    for (int64_t index = 0; index < images.count(); ++index)
      if (const auto pixels = expectedToOptional(images.read(index, scratch))) to.push_back(digestOf(*pixels));
  };
  add(*sets.test, test);
  add(*sets.train, train);
  return countAmong(test, train);
}

}  // namespace expc::data
