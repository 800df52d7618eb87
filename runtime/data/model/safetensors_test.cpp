#include "runtime/data/model/safetensors.h"

#include <doctest/doctest.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstring>
#include <random>

#include "tests/support/folder.h"

namespace expc::safetensors {
namespace {

std::string fileOf(const std::string& header, size_t data) {
  std::string text(8, '\0');
  const uint64_t length = header.size();
  std::memcpy(text.data(), &length, 8);
  return text + header + std::string(data, '\1');
}

Expected<File> parse(const std::string& content) {
  return File::parse(llvm::MemoryBuffer::getMemBufferCopy(content), "x.safetensors");
}

std::string errorOf(const std::string& content) {
  auto file = parse(content);
  REQUIRE_FALSE(file);
  return toString(file.takeError());
}

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << text << "' does not contain '" << part << "'");
  return found;
}

TEST_CASE("tensors are found by name, in the order of their data") {
  auto file = parse(fileOf(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2],"data_offsets":[2,10]},)"
      R"("a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},"e":{"dtype":"I64","shape":[3,0],"data_offsets":[2,2]}} )",
      10));
  REQUIRE(file);
  REQUIRE(file->tensors().size() == 3);
  CHECK(file->tensors()[0].name == "a");
  CHECK(file->find("b")->elements() == 2);
  CHECK(file->find("a")->shape.empty());
  CHECK(file->find("e")->bytes.empty());
  CHECK(file->find("c") == nullptr);
}

TEST_CASE("hostile files are refused with the reason") {
  const auto one = [](const char* entry, size_t data = 4) {
    return fileOf(std::string("{\"t\":") + entry + "}", data);
  };
  CHECK(contains(errorOf(""), "x.safetensors: 0 bytes"));
  CHECK(contains(errorOf("1234567"), "7 bytes"));
  CHECK(contains(errorOf(std::string(8, '\xff') + "{}"), "it announces a header of 18446744073709551615 bytes"));
  std::string longer = fileOf("{}", 0);
  longer[0] = 3;
  CHECK(contains(errorOf(longer), "it announces a header of 3 bytes, but 2 are there"));
  CHECK(contains(errorOf(fileOf("{", 0)), "header is not JSON"));
  CHECK(contains(errorOf(fileOf("[]", 0)), "not a JSON object"));
  CHECK(contains(errorOf("version https://git-lfs.github.com/spec/v1\noid sha256:4ab0\n"), "a Git LFS pointer"));
  CHECK(contains(errorOf("PK\3\4" + std::string(500, '\0')), "contains a pickle"));
  CHECK(contains(errorOf(std::string("\x80\2\x8a\nl\xfc\x9c") + std::string(90, 'x')),
                 "a pickle, which could run any code"));
  CHECK(contains(errorOf(std::string("\x80\2", 2) + std::string(6, '\0') + "{"), "it announces a header of 640 bytes"));
  CHECK(contains(errorOf(fileOf(std::string(1 << 20, '['), 0)), "nested deeper than"));
  CHECK(contains(errorOf(one("7")), "tensor t: expected an object"));
  CHECK(contains(errorOf(one(R"({"shape":[1],"data_offsets":[0,4]})")), "no dtype"));
  CHECK(contains(errorOf(one(R"({"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]})")),
                 "dtype F8_E4M3 is not supported"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","data_offsets":[0,4]})")), "no shape"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})")), "not a whole number"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})")), "not a whole number"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]})")), "too large"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})")), "expected two data_offsets"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})")), "outside of the 4 bytes"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})")), "outside of"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})")), "outside of"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})")), "4 bytes of data, expected 8"));
  CHECK(contains(errorOf(one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})", 5)),
                 "1 bytes after the last tensor"));
  CHECK(contains(errorOf(one(R"({"dtype":"U8","shape":[2],"data_offsets":[2,4]})")), "leaves a gap"));
  CHECK(contains(
      errorOf(fileOf(
          R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},"b":{"dtype":"U8","shape":[2],"data_offsets":[2,4]}})",
          4)),
      "overlaps"));
  std::string dimensions;
  for (int i = 0; i < 65; ++i) dimensions += i ? ",1" : "1";
  CHECK(contains(errorOf(one(("{\"dtype\":\"F32\",\"shape\":[" + dimensions + "],\"data_offsets\":[0,4]}").c_str())),
                 "65 dimensions"));
}

TEST_CASE("any change of a valid file is read or refused, never worse") {
  const std::string valid = fileOf(
      R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"I8","shape":[5],"data_offsets":[24,29]}})",
      29);
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = valid;
    for (uint32_t i = 0; i <= random() % 3; ++i) text[random() % text.size()] = char(random());
    if (random() % 4 == 0) text.resize(random() % text.size());
    auto file = parse(text);
    if (!file) {
      consumeError(file.takeError());
      continue;
    }
    ++accepted;
    for (const auto& tensor : file->tensors()) REQUIRE(tensor.bytes.size() <= text.size());
  }
  CHECK(accepted > 0);
}

TEST_CASE("what is written is read back") {
  const test::TestFolder folder;
  const std::string path = folder / "w.safetensors";
  const uint8_t bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  TensorInfo a{"weights \"x\"", DType::F32, {1, 2}, ArrayRef<uint8_t>(bytes, 8)};
  TensorInfo b{"count", DType::I32, {}, ArrayRef<uint8_t>(bytes + 8, 4)};
  auto digest = writeSafeTensors(path, {a, b});
  REQUIRE(digest);
  {
    auto file = File::open(path);
    REQUIRE(file);
    CHECK(file->find(a.name)->bytes == a.bytes);
    CHECK(file->find(a.name)->shape == a.shape);
    CHECK(file->find("count")->dtype == DType::I32);
    CHECK(file->digest() == *digest);
  }
  auto twice = writeSafeTensors(path, {a, a});
  REQUIRE_FALSE(twice);
  CHECK(toString(twice.takeError()).find("two tensors of the name") != std::string::npos);
  auto nowhere = writeSafeTensors(folder / "none/w.safetensors", {a});
  REQUIRE_FALSE(nowhere);
  CHECK(toString(nowhere.takeError()).find("w.safetensors: No such file") != std::string::npos);
  auto missing = File::open(folder / "none.safetensors");
  REQUIRE_FALSE(missing);
  CHECK(toString(missing.takeError()).find("none.safetensors: No such file") != std::string::npos);
}

TEST_CASE("the digest is BLAKE3's") {
  // Digests of nothing, and of "abc" in two parts, from the reference implementation.
  CHECK(digestOf({}) == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  CHECK(digestOf({llvm::arrayRefFromStringRef("a"), llvm::arrayRefFromStringRef("bc")}) ==
        "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85");
}

}  // namespace
}  // namespace expc::safetensors
