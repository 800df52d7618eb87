#include <doctest/doctest.h>

#include "runtime/data/images/open.h"
#include "runtime/data/images/preparer.h"

namespace expc::data {
namespace {

template <typename T>
std::vector<T> filled(const Images& images, const Preparation& preparation, int64_t index) {
  std::vector<T> out(preparation.imageBytes() / sizeof(T));
  std::vector<uint8_t> scratch;
  cantFail(Preparer(preparation).fill(images, index, out.data(), scratch));
  return out;
}

template <typename T>
void checkAlike(const Images& images, const Images& loaded, const Preparation& preparation) {
  for (const int64_t index : {0, 7, 19}) {
    const auto expected = filled<T>(images, preparation, index), found = filled<T>(loaded, preparation, index);
    REQUIRE(expected.size() == found.size());
    for (size_t i = 0; i < expected.size(); ++i)
      REQUIRE(double(found[i]) == doctest::Approx(double(expected[i])).epsilon(1e-4));
  }
}

}  // namespace

TEST_CASE("images held as tensors give the batches that files give, in each layout and type") {
  const auto opened = [] { return cantFail(open({.kind = Source::Kind::Synthetic, .path = "", .count = 20})).train; };
  for (const Layout layout : {Layout::Nchw, Layout::Nhwc}) {
    const Preparation preparation{40, 40, 3, layout, Element::Float32};
    const auto loaded = cantFail(preload(opened(), preparation));
    const auto images = opened();
    CHECK(loaded->count() == images->count());
    CHECK(loaded->label(7) == images->label(7));
    CHECK(loaded->shape()->rows == 40);
    CHECK(loaded->shape()->channels == 3);
    checkAlike<float>(*images, *loaded, preparation);
    checkAlike<double>(*images, *loaded, {40, 40, 3, layout, Element::Float64});
    checkAlike<uint8_t>(*images, *loaded, {40, 40, 3, layout, Element::UInt8});
  }
}

TEST_CASE("an image that cannot be read is named before the training begins") {
  class Broken : public Images {
   public:
    int64_t count() const override { return 3; }
    int64_t classes() const override { return 1; }
    const std::string& origin() const override { return origin_; }
    std::optional<Shape> shape() const override { return std::nullopt; }
    int64_t label(int64_t) const override { return 0; }
    Expected<Pixels> read(int64_t, std::vector<uint8_t>&) const override {
      return llvm::make_error<CorruptImage>("shapes/7.jpg: no JPEG");
    }

   private:
    std::string origin_ = "shapes";
  };
  auto loaded = preload(std::make_unique<Broken>(), {8, 8});
  REQUIRE_FALSE(bool(loaded));
  CHECK(toString(loaded.takeError()) == "shapes/7.jpg: no JPEG");
}

}  // namespace expc::data
