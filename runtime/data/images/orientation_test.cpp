#include "runtime/data/images/orientation.h"

#include <doctest/doctest.h>

#include <vector>

namespace expc::data {
namespace {

/// A JPEG's first segments: APP0, then EXIF with two tags, of which the second is the orientation.
std::vector<uint8_t> exif(bool little, uint8_t value, uint8_t type = 3) {
  std::vector<uint8_t> tiff = little ? std::vector<uint8_t>{'I', 'I', 42, 0, 8, 0, 0, 0, 2, 0}
                                     : std::vector<uint8_t>{'M', 'M', 0, 42, 0, 0, 0, 8, 0, 2};
  const auto number = [&](int bytes, uint8_t of) {
    for (int i = 0; i < bytes; ++i) tiff.push_back(i == (little ? 0 : bytes - 1) ? of : 0);
  };
  const auto tag = [&](uint8_t low, uint8_t kind, uint8_t holds) {
    tiff.push_back(little ? low : 1);
    tiff.push_back(little ? 1 : low);
    number(2, kind);
    number(4, 1);
    number(2, holds);
    number(2, 0);
  };
  tag(0x0f, 3, 9);
  tag(0x12, type, value);
  std::vector<uint8_t> file = {0xff, 0xd8, 0xff, 0xe0, 0, 4, 'J', 'F', 0xff, 0xe1, 0};
  file.push_back(uint8_t(tiff.size() + 8));
  for (const uint8_t byte : {'E', 'x', 'i', 'f', '\0', '\0'}) file.push_back(byte);
  file.insert(file.end(), tiff.begin(), tiff.end());
  return file;
}

TEST_CASE("the orientation is read in both byte orders") {
  for (const bool little : {true, false})
    for (uint8_t value = 1; value <= 8; ++value) CHECK(orientationOf(exif(little, value)) == value);
}

TEST_CASE("a file without a valid orientation is as stored") {
  CHECK(orientationOf({}) == 1);
  CHECK(orientationOf(std::vector<uint8_t>{0xff, 0xd8, 0xff, 0xda, 0, 2}) == 1);
  CHECK(orientationOf(exif(true, 9)) == 1);
  CHECK(orientationOf(exif(true, 0)) == 1);
  CHECK(orientationOf(exif(true, 6, 4)) == 1);
  // Cut at every place, and with every byte changed, it is some orientation and reads nothing outside.
  const std::vector<uint8_t> whole = exif(false, 6);
  for (size_t size = 0; size + 4 < whole.size(); ++size)
    CHECK(orientationOf(std::vector<uint8_t>(whole.begin(), whole.begin() + long(size))) == 1);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::vector<uint8_t> bent = whole;
    bent[at] ^= 0xff;
    const int value = orientationOf(bent);
    CHECK((value >= 1 && value <= 8));
  }
}

}  // namespace
}  // namespace expc::data
