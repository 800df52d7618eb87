#include "runtime/worker/dali/dali_loader.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ios>
#include <string>

#include "runtime/data/images/open.h"
#include "runtime/data/images/preparer.h"
#include "tests/support/folder.h"

// Each case runs the real DALI on the host. A build without it has nothing to test but its message.

namespace expc::dali {
namespace {

using data::Element;
using data::HostBatch;
using data::Layout;

std::string textOf(Error error) { return toString(std::move(error)); }

std::unique_ptr<data::Images> greySet(int64_t count) {
  auto made = data::synthetic(count, 3);
  REQUIRE(bool(made));
  return std::move(made->train);
}

/// A folder of colour PPM files (which are not compressed, so that every pixel is known), as an Images.
class PpmFolder : public data::Images {
 public:
  explicit PpmFolder(const std::vector<data::Shape>& shapes) {
    for (size_t i = 0; i < shapes.size(); ++i) {
      std::vector<uint8_t> pixels(size_t(shapes[i].rows * shapes[i].cols * 3));
      for (size_t k = 0; k < pixels.size(); ++k)
        pixels[k] = uint8_t(128 + 100 * std::sin(0.07 * double(k) + double(i)));
      std::ofstream(file(int64_t(i)), std::ios::binary) << "P6\n"
                                                        << shapes[i].cols << " " << shapes[i].rows << "\n255\n"
                                                        << std::string(pixels.begin(), pixels.end());
      images_.push_back({std::move(pixels), shapes[i]});
    }
  }
  int64_t count() const override { return int64_t(images_.size()); }
  int64_t classes() const override { return 5; }
  const std::string& origin() const override { return folder_.path; }
  std::optional<data::Shape> shape() const override { return std::nullopt; }
  int64_t label(int64_t index) const override { return index % 5; }
  Expected<data::Pixels> read(int64_t index, std::vector<uint8_t>&) const override {
    if (index == broken_) return llvm::createStringError(file(index) + ": it is broken");
    const auto& image = images_[size_t(index)];
    return data::Pixels{image.pixels.data(), image.shape.rows, image.shape.cols, 3};
  }
  std::string file(int64_t index) const override { return folder_.path + "/" + std::to_string(index) + ".ppm"; }

  void breakFile(int64_t index) {
    broken_ = index;
    std::ofstream(file(index), std::ios::binary) << "P6\n64 ";
  }

 private:
  struct Image {
    std::vector<uint8_t> pixels;
    data::Shape shape;
  };
  test::TestFolder folder_;
  std::vector<Image> images_;
  int64_t broken_ = -1;
};

data::LoaderOptions options(int64_t count, int64_t batch, int64_t size) {
  data::LoaderOptions result;
  result.order = [count](int64_t epoch) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < count; ++i) order.push_back((i * 7 + epoch) % count);
    return order;
  };
  result.batch = batch;
  result.epochs = 1;
  result.preparation.rows = result.preparation.cols = size;
  result.workers = 2;
  return result;
}

double valueOf(const HostBatch& batch, const data::Preparation& p, size_t i) {
  switch (p.element) {
    case Element::UInt8:
      return static_cast<const uint8_t*>(batch.images)[i];
    case Element::Float32:
      return static_cast<const float*>(batch.images)[i];
    case Element::Float64:
      return static_cast<const double*>(batch.images)[i];
    default: {
      uint16_t bits = 0;
      std::memcpy(&bits, static_cast<const uint16_t*>(batch.images) + i, sizeof bits);
      const int exponent = (bits >> 10) & 31, mantissa = bits & 1023;
      const double value = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      return bits & 0x8000 ? -value : value;
    }
  }
}

/// Whether value k of an image lies in its outermost rows or columns.
bool atEdge(size_t k, const data::Preparation& p) {
  const auto at = int64_t(k), area = p.rows * p.cols;
  const int64_t pixel = p.layout == Layout::Nhwc ? at / p.channels : at % area;
  const int64_t row = pixel / p.cols, col = pixel % p.cols;
  return row == 0 || col == 0 || row == p.rows - 1 || col == p.cols - 1;
}

/// Runs a loader to its end and compares what it gives with data::Preparer; the largest difference. `inner` leaves out
/// the outermost pixels: where a filter reaches beyond an image that is made smaller, DALI repeats the image's edge,
/// torch and PIL divide by what remains of the filter.
double largestDifference(const data::Images& images, const data::LoaderOptions& wanted, bool inner = false) {
  auto loader = makeLoader(images, wanted);
  if (!loader) FAIL(textOf(loader.takeError()));
  data::Preparation plain = wanted.preparation;
  plain.element = plain.element == Element::UInt8 ? Element::UInt8 : Element::Float32;
  const data::Preparer preparer(plain);
  const auto values = plain.imageBytes() / data::bytesOf(plain.element);
  std::vector<uint8_t> memory(plain.imageBytes()), scratch;
  double worst = 0;
  int64_t epoch = 0, number = 0, seen = 0;
  for (;;) {
    auto batch = (*loader)->next();
    if (!batch) FAIL(textOf(batch.takeError()));
    if (!*batch) break;
    CHECK((*batch)->epoch == epoch);
    CHECK((*batch)->number == number++);
    CHECK_FALSE((*batch)->on_device);
    const auto order = wanted.order(epoch);
    for (int64_t i = 0; i < (*batch)->count; ++i) {
      const int64_t index = order[size_t(seen + i)];
      CHECK((*batch)->labels[i] == images.label(index));
      auto pixels = images.read(index, scratch);
      REQUIRE(bool(pixels));
      REQUIRE(textOf(preparer.apply(*pixels, memory.data())).empty());
      HostBatch ours;
      ours.images = memory.data();
      for (size_t k = 0; k < values; ++k) {
        if (inner && atEdge(k, plain)) continue;
        worst = std::max(
            worst, std::abs(valueOf(**batch, wanted.preparation, size_t(i) * values + k) - valueOf(ours, plain, k)));
      }
    }
    seen += (*batch)->count;
    if ((*batch)->last) {
      ++epoch;
      number = seen = 0;
    }
  }
  CHECK(epoch == wanted.epochs);
  return worst;
}

}  // namespace

TEST_CASE("grey images from memory are prepared as ours are, in every type and layout") {
  if (!isBuilt()) return;
  const auto made = greySet(20);
  const data::Images& images = *made;
  for (Layout layout : {Layout::Nchw, Layout::Nhwc}) {
    for (Element element : {Element::Float32, Element::Float64, Element::Float16, Element::UInt8}) {
      CAPTURE(int(layout));
      CAPTURE(int(element));
      auto wanted = options(20, 8, 45);
      wanted.preparation.layout = layout;
      wanted.preparation.element = element;
      wanted.preparation.normalise = element != Element::UInt8;
      CHECK(largestDifference(images, wanted) <= (element == Element::Float16 ? 2e-3
                                                  : element == Element::UInt8 ? 1
                                                                              : 2e-5));
    }
  }
}

TEST_CASE("scaling down has our antialiasing") {
  if (!isBuilt()) return;
  CHECK(largestDifference(*greySet(6), options(6, 4, 11), true) < 2e-5);
  CHECK(largestDifference(*greySet(6), options(6, 4, 11)) < 0.5);
}

TEST_CASE("colour files differ from ours by at most one level where they are scaled, and not at all elsewhere") {
  if (!isBuilt()) return;
  constexpr double kLevel = 1 / (255 * 0.224);
  const PpmFolder same(std::vector<data::Shape>(5, {40, 40, 3}));
  CHECK(largestDifference(same, options(5, 2, 40)) < 1e-5);
  CHECK(largestDifference(same, options(5, 2, 24), true) <= 1.01 * kLevel);
  CHECK(largestDifference(same, options(5, 2, 56)) <= 1.01 * kLevel);
  auto bytes = options(5, 2, 40);
  bytes.preparation.element = Element::UInt8;
  bytes.preparation.normalise = false;
  bytes.preparation.layout = Layout::Nhwc;
  CHECK(largestDifference(same, bytes) == 0);
}

TEST_CASE("images of another size in the middle are scaled, and nothing is lost") {
  if (!isBuilt()) return;
  std::vector<data::Shape> shapes(12, {40, 40, 3});
  shapes[7 * 7 % 12] = {50, 30, 3};  // the eighth of the order
  const PpmFolder images(shapes);
  for (unsigned workers : {0u, 2u}) {
    auto wanted = options(12, 2, 40);
    wanted.workers = workers;
    wanted.epochs = 2;
    CHECK(largestDifference(images, wanted, true) <= 1.01 / (255 * 0.224));
  }
}

TEST_CASE("epochs end with a short batch, or without it") {
  if (!isBuilt()) return;
  const auto made = greySet(10);
  const data::Images& images = *made;
  for (unsigned workers : {0u, 1u, 3u}) {
    auto wanted = options(10, 4, 28);
    wanted.workers = workers;
    wanted.prefetch = 3;
    wanted.epochs = 3;
    CHECK(largestDifference(images, wanted) < 2e-5);
    wanted.drop_last = true;
    auto loader = makeLoader(images, wanted);
    REQUIRE(bool(loader));
    int batches = 0;
    for (;;) {
      auto batch = (*loader)->next();
      REQUIRE(bool(batch));
      if (!*batch) break;
      CHECK((*batch)->count == 4);
      ++batches;
    }
    CHECK(batches == 6);
  }
}

TEST_CASE("without end it goes on, and stops in the middle") {
  if (!isBuilt()) return;
  const auto made = greySet(8);
  const data::Images& images = *made;
  auto wanted = options(8, 4, 16);
  wanted.epochs = 0;
  auto loader = makeLoader(images, wanted);
  REQUIRE(bool(loader));
  std::vector<HostBatch> kept;
  for (int i = 0; i < 9; ++i) {
    auto batch = (*loader)->next();
    REQUIRE(bool(batch));
    REQUIRE(batch->has_value());
    CHECK((*batch)->epoch == i / 2);
    kept.push_back(std::move(**batch));
  }
  CHECK((*loader)->waitSeconds() > 0);
  loader->reset();
  // Batches outlive their loader: the first and the ninth hold different orders of the same images.
  CHECK(kept[0].labels[0] == images.label(0));
  CHECK(kept[8].labels[0] == images.label(4));
  CHECK(std::isfinite(static_cast<const float*>(kept[0].images)[0]));
}

TEST_CASE("a file that cannot be decoded is named at its batch's turn, and again") {
  if (!isBuilt()) return;
  PpmFolder images(std::vector<data::Shape>(6, {20, 20, 3}));
  images.breakFile(3);
  auto loader = makeLoader(images, options(6, 2, 20));
  REQUIRE(bool(loader));
  REQUIRE(bool((*loader)->next()));
  std::string text;
  for (int i = 0; i < 3 && text.empty(); ++i) {
    auto batch = (*loader)->next();
    if (!batch) text = textOf(batch.takeError());
  }
  CHECK(text.find(images.file(3) + ": it is broken (DALI says: Error in CPU operator `") == 0);
  auto again = (*loader)->next();
  REQUIRE(!again);
  CHECK(textOf(again.takeError()) == text);
}

TEST_CASE("options that make no sense are refused") {
  const auto made = greySet(10);
  const data::Images& images = *made;
  auto skipping = options(10, 4, 16);
  skipping.on_corrupt = data::OnCorrupt::Replace;
  auto loader = makeLoader(images, skipping);
  REQUIRE(!loader);
  const std::string text = textOf(loader.takeError());
  CHECK(text.find(isBuilt() ? "use on_corrupt = fail, or another loader" : "run `tools/setup --dali`") !=
        std::string::npos);
  if (!isBuilt()) return;
  auto none = options(2, 4, 16);
  none.drop_last = true;
  none.epochs = 0;
  auto empty = makeLoader(images, none);
  REQUIRE(!empty);
  CHECK(textOf(empty.takeError()).find("give no batch of 4") != std::string::npos);
}

}  // namespace expc::dali
