#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <llvm/Support/MemoryBuffer.h>

#include "runtime/data/images/decode.h"
#include "runtime/data/images/preparer.h"
#include "tests/parity/fixtures.h"
#include "tests/source_dir.h"

namespace expc::parity {
namespace {

const std::string kFolder = "images/";

std::vector<uint8_t> bytesOf(const std::string& name) {
  auto file = llvm::MemoryBuffer::getFile(expc::test::sourceDir() + "/tests/parity/golden/" + kFolder + name);
  REQUIRE(file);
  return {(*file)->getBufferStart(), (*file)->getBufferEnd()};
}

data::Pixels decoded(const std::string& name, std::vector<uint8_t>& scratch) {
  const auto bytes = bytesOf(name);
  auto pixels = data::decode(bytes, {{}, nullptr, &scratch});
  if (!pixels) FAIL(name << ": " << toString(pixels.takeError()));
  return *pixels;
}

at::Tensor tensor(const data::Pixels& pixels) {
  return at::from_blob(const_cast<uint8_t*>(pixels.data), {pixels.rows, pixels.cols, pixels.channels}, at::kByte)
      .clone();
}

/// Largest difference in units of 0 to 1, not of standard deviations.
double apart(const at::Tensor& normalised, const at::Tensor& wanted) {
  const auto std = at::tensor({0.229, 0.224, 0.225}, at::kDouble).view({3, 1, 1});
  return ((normalised.to(at::kDouble) - wanted.to(at::kDouble)) * std).abs().max().item<double>();
}

at::Tensor prepared(const data::Pixels& pixels, int64_t rows, int64_t cols) {
  auto out = at::empty({3, rows, cols}, at::kFloat);
  cantFail(data::Preparer({rows, cols, 3, data::Layout::Nchw, data::Element::Float32})
               .apply(pixels, out.mutable_data_ptr<float>()));
  return out;
}

TEST_CASE("decoded pixels are PIL's") {
  const auto index = readJson(kFolder + "images.json");
  const auto golden = openTensors(kFolder + "images.safetensors");
  std::vector<uint8_t> scratch;
  for (const auto& entry : *index.getAsObject()->getArray("decoded")) {
    const std::string name = entry.getAsString()->str();
    CAPTURE(name);
    const auto wanted = tensorOf(golden, name + ".decoded");
    const auto found = tensor(decoded(name, scratch));
    REQUIRE(found.sizes() == wanted.sizes());
    // The same transform and the same upsampling: not one bit differs.
    CHECK(difference(found, wanted) == 0);
  }
}

TEST_CASE("colour images are scaled and normalised as by torchvision on PIL images") {
  const auto index = readJson(kFolder + "images.json");
  const auto golden = openTensors(kFolder + "images.safetensors");
  std::vector<uint8_t> scratch;
  for (const auto& entry : *index.getAsObject()->getArray("resized")) {
    const std::string name = entry.getAsString()->str();
    CAPTURE(name);
    const auto pixels = decoded(name, scratch);
    for (const auto& size : *index.getAsObject()->getArray("sizes")) {
      const auto sides = integers(*size.getAsArray());
      const auto wanted = tensorOf(golden, name + "." + std::to_string(sides[0]) + "x" + std::to_string(sides[1]));
      // Asked for is 1/255; PIL's fixed point is met exactly, so only the normalisation's rounding is left.
      CHECK(apart(prepared(pixels, sides[0], sides[1]), wanted) < 1e-6);
    }
  }
}

TEST_CASE("grey digits are scaled and normalised as by torchvision on tensors") {
  const auto index = readJson(kFolder + "images.json");
  const auto golden = openTensors(kFolder + "images.safetensors");
  const auto digit = tensorOf(golden, "digit").contiguous();
  const data::Pixels pixels{digit.const_data_ptr<uint8_t>(), 28, 28, 1};
  for (const int64_t size : integers(*index.getAsObject()->getArray("digits")))
    CHECK(apart(prepared(pixels, size, size), tensorOf(golden, "digit." + std::to_string(size))) < 5e-6);
}

}  // namespace
}  // namespace expc::parity
