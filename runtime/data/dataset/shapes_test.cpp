#include "runtime/data/dataset/shapes.h"

#include <doctest/doctest.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "runtime/data/dataset/inspect.h"
#include "runtime/data/images/decode.h"
#include "runtime/data/images/open.h"
#include "runtime/data/images/packed.h"
#include "tests/support/folder.h"

namespace expc::dataset {
namespace {

using test::TestFolder;

namespace fs = std::filesystem;

std::vector<uint8_t> drawn(int64_t label, int64_t size, uint64_t seed, bool test, int64_t number) {
  std::vector<uint8_t> out(size_t(size * size * 3));
  drawShape(label, size, seed, test, number, out.data());
  return out;
}

std::string textOf(Error error) { return error ? toString(std::move(error)) : "none"; }

TEST_CASE("the same arguments draw the same pixels on every machine, others draw others") {
  // Sums of the images that were drawn when this test was written: drawing must not change.
  CHECK(llvm::utohexstr(data::packedSum(drawn(0, 300, 1, false, 0)), true) == "a971f342e8e1f532");
  CHECK(llvm::utohexstr(data::packedSum(drawn(63, 33, 9, true, 1234567)), true) == "1641f3353c5ef39c");
  const auto one = drawn(3, 64, 1, false, 3);
  CHECK(one == drawn(3, 64, 1, false, 3));
  CHECK(one != drawn(3, 64, 2, false, 3));
  CHECK(one != drawn(3, 64, 1, true, 3));
  CHECK(one != drawn(3, 64, 1, false, 13));
  CHECK(one != drawn(4, 64, 1, false, 3));
}

TEST_CASE("every class has its own name, and its colour is in the picture") {
  std::set<std::string> names;
  for (int64_t label = 0; label < kMostShapeClasses; ++label) names.insert(shapeClass(label));
  CHECK(names.size() == size_t(kMostShapeClasses));
  CHECK(shapeClass(0) == "red_disc");
  // A red disc lies somewhere in the image, so red leads by far in many pixels.
  const auto pixels = drawn(0, 100, 5, false, 0);
  int red = 0;
  for (size_t i = 0; i < pixels.size(); i += 3)
    red += pixels[i] > pixels[i + 1] + 120 && pixels[i] > pixels[i + 2] + 120;
  CHECK(red > 500);
}

TEST_CASE("files hold what was drawn") {
  const auto pixels = drawn(5, 48, 1, false, 5);
  std::vector<uint8_t> scratch;
  auto png = encodePng(pixels.data(), 48);
  REQUIRE(png);
  auto same = data::decode(*png, {{}, nullptr, &scratch});
  REQUIRE(same);
  CHECK(std::equal(pixels.begin(), pixels.end(), same->data));
  auto jpeg = encodeJpeg(pixels.data(), 48);
  REQUIRE(jpeg);
  auto near = data::decode(*jpeg, {{}, nullptr, &scratch});
  REQUIRE(near);
  CHECK(near->rows == 48);
  int64_t apart = 0;
  for (size_t i = 0; i < pixels.size(); ++i) apart += std::abs(int{pixels[i]} - int{near->data[i]});
  CHECK(apart / int64_t(pixels.size()) < 12);
}

TEST_CASE("a set of shapes is a class folder, balanced, equal for equal arguments") {
  const TestFolder folder;
  const ShapeOptions options{.size = 32, .count = 23, .classes = 4, .png = true, .seed = 3, .threads = 3};
  REQUIRE(textOf(makeShapes(folder / "a/", options, false)) == "none");
  auto alone = options;
  alone.threads = 1;
  fs::create_directory(folder / "b");  // an empty one may be taken
  REQUIRE(textOf(makeShapes(folder / "b", alone, false)) == "none");
  auto place = recognise(folder / "a");
  REQUIRE(place);
  CHECK(place->kind == data::Source::Kind::Folder);
  auto info = inspect(*place, 2);
  REQUIRE(info);
  CHECK(info->train == 23);
  CHECK(info->test == 4);
  CHECK(info->png == 27);
  CHECK(info->largest.rows == 32);
  REQUIRE(info->classes.size() == 4);
  for (const auto& entry : info->classes) {
    CHECK(entry.train >= 5);
    CHECK(entry.test == 1);
  }
  auto one = data::openFolder(folder / "a"), two = data::openFolder(folder / "b");
  REQUIRE(one);
  REQUIRE(two);
  std::vector<uint8_t> first, second;
  for (int64_t i = 0; i < 23; ++i) {
    REQUIRE(one->train->read(i, first));
    REQUIRE(two->train->read(i, second));
    CHECK(first == second);
  }
}

TEST_CASE("a folder that is there is replaced only if it was made here, and only when asked to") {
  const TestFolder folder;
  const ShapeOptions options{.size = 16, .count = 4, .classes = 2};
  fs::create_directory(folder / "mine");
  std::ofstream(folder / "mine/thesis.txt") << "text";
  CHECK(textOf(makeShapes(folder / "mine", options, false)).find("exists; choose another name") != std::string::npos);
  CHECK(textOf(makeShapes(folder / "mine", options, true)).find("was not made by") != std::string::npos);
  CHECK(fs::exists(folder / "mine/thesis.txt"));
  CHECK(textOf(makeShapes(folder / "mine/thesis.txt", options, true)).find("is not a folder") != std::string::npos);
  REQUIRE(textOf(makeShapes(folder / "shapes", options, false)) == "none");
  CHECK(textOf(makeShapes(folder / "shapes", options, false)).find("--force") != std::string::npos);
  auto more = options;
  more.count = 6;
  REQUIRE(textOf(makeShapes(folder / "shapes", more, true)) == "none");
  auto sets = data::openFolder(folder / "shapes");
  REQUIRE(sets);
  CHECK(sets->train->count() == 6);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 2);
}

TEST_CASE("what is damaged is listed, all of it") {
  const TestFolder folder;
  REQUIRE(textOf(makeShapes(folder / "shapes", {.size = 16, .count = 20, .classes = 2}, false)) == "none");
  const auto place = data::Source{data::Source::Kind::Folder, folder / "shapes", 0};
  auto verified = verify(place, 2);
  REQUIRE(verified);
  CHECK(verified->images == 24);
  CHECK(verified->damaged.empty());
  for (const char* name : {"train/red_disc/0000004.jpg", "test/green_ring/0000003.jpg"})
    fs::resize_file(folder / "shapes/" + name, 300);
  std::ofstream(folder / "shapes/train/green_ring/0000001.jpg") << "no image";
  verified = verify(place, 2);
  REQUIRE(verified);
  REQUIRE(verified->damaged.size() == 3);
  CHECK(verified->damaged[0].find("train/green_ring/0000001.jpg: neither JPEG nor PNG") != std::string::npos);
  CHECK(verified->damaged[2].find("test/green_ring/0000003.jpg: ") != std::string::npos);
  auto info = inspect(place, 2);
  REQUIRE(info);
  CHECK(info->unreadable == 3);  // all of them within the header
}

TEST_CASE("what is no data set is told what one looks like") {
  const TestFolder folder;
  const auto said = [&](const char* name) {
    auto place = recognise(folder / name);
    return place ? std::string(toString(place->kind)) : toString(place.takeError());
  };
  CHECK(said("gone").find("no such file or folder") != std::string::npos);
  CHECK(said("").find("expected train/CLASS/*.jpg") != std::string::npos);
  std::ofstream(folder / "file") << "x";
  CHECK(said("file") == "packed");  // opening it says what is wrong with it
  fs::create_directories(folder / "half/train/a");
  CHECK(said("half") == "folder");
  fs::create_directory(folder / "idx");
  std::ofstream(folder / "idx/train-images-idx3-ubyte") << "x";
  CHECK(said("idx") == "mnist");
}

}  // namespace
}  // namespace expc::dataset
