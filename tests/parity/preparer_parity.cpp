#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "runtime/data/images/preparer.h"
#include "tests/parity/fixtures.h"

namespace expc::parity {
namespace {

/// What torchvision's tensor path does: convert, resize (antialiased), three channels, normalise.
at::Tensor reference(const at::Tensor& image, int64_t size, bool antialias) {
  const auto x = (image.to(at::kDouble) / 255).view({1, 1, image.size(0), image.size(1)});
  const auto scaled =
      antialias ? at::_upsample_bilinear2d_aa(x, {size, size}, false) : at::upsample_bilinear2d(x, {size, size}, false);
  const auto mean = at::tensor({0.485, 0.456, 0.406}, at::kDouble).view({3, 1, 1}),
             std = at::tensor({0.229, 0.224, 0.225}, at::kDouble).view({3, 1, 1});
  return (scaled[0].expand({3, size, size}) - mean) / std;
}

TEST_CASE("scaling equals torch's interpolation") {
  at::manual_seed(1);
  struct Case {
    int64_t rows, cols, size;
  };
  for (const auto& [rows, cols, size] :
       {Case{28, 28, 300}, Case{28, 28, 224}, Case{8, 8, 32}, Case{8, 8, 100}, Case{28, 28, 28}, Case{28, 28, 16},
        Case{64, 48, 17}, Case{28, 28, 1}, Case{10, 40, 20}, Case{1, 1, 5}}) {
    CAPTURE(rows);
    CAPTURE(size);
    const auto image = at::randint(0, 256, {rows, cols}, at::kByte);
    const auto wanted = reference(image, size, true);
    // Where both axes grow, antialiasing changes nothing.
    if (size >= rows && size >= cols) CHECK(difference(wanted, reference(image, size, false)) < 1e-6);
    for (const bool nhwc : {false, true}) {
      const auto layout = nhwc ? data::Layout::Nhwc : data::Layout::Nchw;
      const data::Pixels pixels{image.const_data_ptr<uint8_t>(), rows, cols, 1};
      auto wide = nhwc ? at::empty({size, size, 3}, at::kDouble) : at::empty({3, size, size}, at::kDouble);
      auto narrow = at::empty(wide.sizes(), at::kFloat);
      cantFail(data::Preparer({size, size, 3, layout, data::Element::Float64})
                   .apply(pixels, wide.mutable_data_ptr<double>()));
      cantFail(data::Preparer({size, size, 3, layout, data::Element::Float32})
                   .apply(pixels, narrow.mutable_data_ptr<float>()));
      const auto planar = [&](const at::Tensor& t) { return nhwc ? t.permute({2, 0, 1}) : t; };
      CHECK(difference(planar(wide), wanted) < 1e-12);
      CHECK(difference(planar(narrow), wanted) < 5e-6);
    }
  }
}

TEST_CASE("digits that were packed at 300 px are within half a step of 1/255 of torch's") {
  at::manual_seed(2);
  const auto image = at::randint(0, 256, {28, 28}, at::kByte);
  auto packed = at::empty({300, 300}, at::kByte);
  auto found = at::empty({3, 300, 300}, at::kFloat);
  cantFail(data::Preparer({300, 300, 1, data::Layout::Nhwc, data::Element::UInt8, false})
               .apply({image.const_data_ptr<uint8_t>(), 28, 28, 1}, packed.mutable_data_ptr<uint8_t>()));
  cantFail(data::Preparer({300, 300, 3, data::Layout::Nchw, data::Element::Float32})
               .apply({packed.const_data_ptr<uint8_t>(), 300, 300, 1}, found.mutable_data_ptr<float>()));
  const auto std = at::tensor({0.229, 0.224, 0.225}, at::kDouble).view({3, 1, 1});
  CHECK(((found.to(at::kDouble) - reference(image, 300, true)) * std).abs().max().item<double>() < 0.501 / 255);
}

}  // namespace
}  // namespace expc::parity
