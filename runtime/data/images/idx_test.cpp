#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <ios>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/images/open.h"
#include "tests/source_dir.h"
#include "tests/support/folder.h"

namespace expc::data {
namespace {

std::string word(uint32_t value) { return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)}; }

const uint8_t* pixelsOf(const Images& images, int64_t index) {
  std::vector<uint8_t> scratch;
  return cantFail(images.read(index, scratch)).data;
}

/// A folder with the four files of a tiny set (3 training, 2 test images of 2 x 2).
struct Folder : test::TestFolder {
  Folder() {
    write("train-images-idx3-ubyte", images(3));
    write("train-labels-idx1-ubyte", labels("\0\5\11", 3));
    write("t10k-images-idx3-ubyte", images(2));
    write("t10k-labels-idx1-ubyte", labels("\1\2", 2));
  }
  void write(const std::string& name, const std::string& content) {
    std::ofstream(path + "/" + name, std::ios::binary) << content;
  }
  void remove(const std::string& name) { llvm::sys::fs::remove(path + "/" + name); }
  static std::string images(uint32_t count, uint32_t magic = 0x803) {
    std::string text = word(magic) + word(count) + word(2) + word(2);
    for (uint32_t i = 0; i < count * 4; ++i) text.push_back(char(i));
    return text;
  }
  static std::string labels(const char* values, uint32_t count, uint32_t magic = 0x801) {
    return word(magic) + word(count) + std::string(values, count);
  }
  /// The error of readMnist, which must fail.
  std::string error() const {
    auto set = readMnist(path);
    REQUIRE_FALSE(set);
    return toString(set.takeError());
  }
};

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << text << "' does not contain '" << part << "'");
  return found;
}

TEST_CASE("a whole set is read") {
  Folder folder;
  auto set = readMnist(folder.path);
  REQUIRE(set);
  CHECK(set->train->count() == 3);
  CHECK(set->train->shape()->rows == 2);
  for (const auto& [image, label] : {std::pair(0, 0), {1, 5}, {2, 9}}) CHECK(set->train->label(image) == label);
  CHECK(pixelsOf(*set->train, 2)[1] == 9);
  CHECK(set->test->count() == 2);
}

TEST_CASE("errors name the file, what was expected and what was found") {
  Folder folder;
  SUBCASE("no folder") {
    auto set = readMnist(folder.path + "/none");
    REQUIRE_FALSE(set);
    CHECK(contains(toString(set.takeError()), "/none: no such folder"));
  }
  SUBCASE("missing file") {
    folder.remove("t10k-labels-idx1-ubyte");
    CHECK(contains(folder.error(), "t10k-labels-idx1-ubyte: No such file"));
  }
  SUBCASE("only a compressed file") {
    folder.remove("train-images-idx3-ubyte");
    folder.write("train-images-idx3-ubyte.gz", "\x1f\x8b");
    CHECK(contains(folder.error(), "unpack it with `gunzip -k "));
  }
  SUBCASE("compressed under the plain name") {
    folder.write("train-images-idx3-ubyte", "\x1f\x8b\x08 and more bytes than a header has");
    CHECK(contains(folder.error(), "not an IDX file of images but gzip data: unpack it with gunzip"));
  }
  SUBCASE("empty file") {
    folder.write("train-images-idx3-ubyte", "");
    CHECK(contains(folder.error(), "train-images-idx3-ubyte: 0 bytes, expected at least the 16 bytes"));
  }
  SUBCASE("wrong magic") {
    folder.write("train-images-idx3-ubyte", Folder::images(3, 0x801));
    CHECK(contains(folder.error(), "magic number 0x00000801, expected 0x00000803"));
  }
  SUBCASE("labels swapped with images") {
    folder.write("train-labels-idx1-ubyte", Folder::images(3));
    CHECK(contains(folder.error(), "train-labels-idx1-ubyte: magic number 0x00000803, expected 0x00000801"));
  }
  SUBCASE("truncated") {
    const std::string whole = Folder::images(3);
    folder.write("train-images-idx3-ubyte", whole.substr(0, whole.size() - 1));
    CHECK(contains(folder.error(),
                   "27 bytes, expected 28 for the 3 images of 2 x 2 in its header: the file is truncated"));
  }
  SUBCASE("left over") {
    folder.write("train-labels-idx1-ubyte", Folder::labels("\0\1\2\3", 4) + "x");
    CHECK(contains(folder.error(), "longer than it should be"));
  }
  SUBCASE("huge counts") {
    folder.write("train-images-idx3-ubyte", word(0x803) + word(0xffffffff) + word(16384) + word(16384) + "abcd");
    CHECK(contains(folder.error(), "the file is truncated"));
    folder.write("train-images-idx3-ubyte", word(0x803) + word(1) + word(0xffffffff) + word(0xffffffff) + "abcd");
    CHECK(contains(folder.error(), "images of 4294967295 x 4294967295 pixels"));
  }
  SUBCASE("no images") {
    folder.write("train-images-idx3-ubyte", Folder::images(0));
    CHECK(contains(folder.error(), "no images in it"));
  }
  SUBCASE("counts differ") {
    folder.write("train-labels-idx1-ubyte", Folder::labels("\1\2", 2));
    CHECK(contains(folder.error(), "2 labels, expected 3 as there are images in"));
  }
  SUBCASE("label out of range") {
    folder.write("train-labels-idx1-ubyte", Folder::labels("\1\12\2", 3));
    CHECK(contains(folder.error(), "label 10 at position 1, expected 0 to 9"));
  }
  SUBCASE("sizes differ") {
    folder.write("t10k-images-idx3-ubyte", word(0x803) + word(2) + word(1) + word(4) + "abcdefgh");
    CHECK(contains(folder.error(), "test images of 1 x 4, expected 2 x 2"));
  }
  SUBCASE("a folder in place of a file") {
    folder.remove("train-images-idx3-ubyte");
    llvm::sys::fs::create_directory(folder.path + "/train-images-idx3-ubyte");
    CHECK(contains(folder.error(), "Is a directory"));
  }
}

TEST_CASE("the digits in the repository are read") {
  auto set = readMnist(expc::test::sourceDir() + "/experiments/data/digits");
  REQUIRE(set);
  CHECK(set->train->count() == 1437);
  CHECK(set->test->count() == 360);
  CHECK(set->train->shape()->rows == 8);
  const uint8_t* pixels = pixelsOf(*set->train, 0);
  CHECK(*std::max_element(pixels, pixels + 1437 * 8 * 8) == 255);
}

TEST_CASE("synthetic images are the same each time and differ by class and seed") {
  auto one = synthetic(40), two = synthetic(40), other = synthetic(40, 1);
  REQUIRE((one && two && other));
  const uint8_t *first = pixelsOf(*one->train, 0), *end = first + 40 * 28 * 28;
  CHECK(std::equal(first, end, pixelsOf(*two->train, 0)));
  CHECK_FALSE(std::equal(first, end, pixelsOf(*other->train, 0)));
  CHECK(one->test->count() == 10);
  CHECK(one->train->label(13) == 3);
  // Two images of one class are closer than two of different classes.
  const auto distance = [&](int64_t a, int64_t b) {
    int64_t sum = 0;
    for (int64_t i = 0; i < 28 * 28; ++i)
      sum += std::abs(int{pixelsOf(*one->train, a)[i]} - int{pixelsOf(*one->train, b)[i]});
    return sum;
  };
  CHECK(distance(0, 10) < distance(0, 1));
  auto none = synthetic(0);
  CHECK_FALSE(none);
  consumeError(none.takeError());
}

}  // namespace
}  // namespace expc::data
