#include "runtime/worker/model/state_file.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>

namespace expc::model {
namespace {

/// A file that is gone with it.
struct Written {
  std::string path;
  explicit Written(const std::vector<NamedTensor>& state) {
    llvm::SmallString<128> name;
    REQUIRE_FALSE(llvm::sys::fs::createTemporaryFile("state", "safetensors", name));
    path = name.str().str();
    REQUIRE(bool(saveState(path, state)));
  }
  ~Written() { llvm::sys::fs::remove(path); }
  safetensors::File open() const { return cantFail(safetensors::File::open(path)); }
};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("an entry of each tensor is loaded, cast where that is allowed") {
  const at::Tensor a = at::arange(6, at::kFloat).view({2, 3}), b = at::tensor({4, 5}, at::kLong);
  const Written file({{"a", a}, {"b", b}});
  const std::vector<NamedTensor> state = {{"a", at::zeros({3}, at::kDouble)}, {"b", at::zeros({}, at::kLong)}};
  CHECK(toString(loadEntries(file.open(), 1, 2, state)).empty());
  CHECK(at::equal(state[0].tensor, a[1].to(at::kDouble)));
  CHECK(at::equal(state[1].tensor, b[1]));
}

TEST_CASE("a file of another number of entries is refused, and nothing changed") {
  const Written file({{"a", at::ones({3, 2})}});
  const std::vector<NamedTensor> state = {{"a", at::zeros({2})}};
  CHECK(contains(toString(loadEntries(file.open(), 0, 2, state)), "with another shape: a [3, 2] for [2]"));
  CHECK(contains(toString(loadEntries(file.open(), 0, 2, {{"c", at::zeros({2})}})), "missing: c"));
  CHECK(at::equal(state[0].tensor, at::zeros({2})));
}

TEST_CASE("an entry is a part of the tensor's bytes") {
  const Written file({{"a", at::arange(6, at::kFloat).view({3, 2})}});
  const safetensors::File open = file.open();
  const safetensors::TensorInfo& whole = *open.find("a");
  const safetensors::TensorInfo entry = entryOf(whole, 2, 3);
  CHECK(entry.shape == std::vector<int64_t>{2});
  CHECK(entry.bytes.data() == whole.bytes.data() + 16);
  CHECK(at::equal(tensorOf(entry), at::tensor({4.0F, 5.0F})));
}

}  // namespace
}  // namespace expc::model
