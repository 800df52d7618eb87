#include "runtime/data/dataset/pack.h"

#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <random>

#include "runtime/data/dataset/inspect.h"
#include "runtime/data/dataset/shapes.h"
#include "runtime/data/images/open.h"
#include "runtime/data/images/packed.h"
#include "runtime/data/images/preparer.h"
#include "tests/source_dir.h"
#include "tests/support/folder.h"

namespace expc::dataset {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(expc::test::sourceDir()) / "tests/parity/golden/images";

struct Folder : test::TestFolder {
  size_t entries() const { return size_t(std::distance(fs::directory_iterator(path), fs::directory_iterator())); }
};

data::ImageSets inMemory(int64_t count) {
  auto made = data::synthetic(count);
  REQUIRE(made);
  return std::move(*made);
}

std::vector<char> bytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void writeBytes(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Opens a file and reads every image; returns the first error, or "well".
std::string judge(const std::string& path) {
  auto sets = data::openPacked(path);
  if (!sets) return toString(sets.takeError());
  std::vector<uint8_t> scratch;
  for (const data::Images* set : {sets->train.get(), sets->test.get()})
    for (int64_t i = 0; i < set->count(); ++i) {
      auto pixels = set->read(i, scratch);
      if (!pixels) return toString(pixels.takeError());
    }
  return "well";
}

/// The bytes of a small packed file.
std::vector<char> example(const Folder& folder) {
  const auto sets = inMemory(12);
  REQUIRE(pack(sets, folder / "example", {.size = 0, .skip_corrupt = false, .threads = 2}));
  return bytesOf(folder / "example");
}

/// Changes the header and gives it the right sum again.
std::vector<char> withHeader(std::vector<char> bytes, void (*change)(data::PackedHeader&)) {
  data::PackedHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  header.header_sum = data::headerSum(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

TEST_CASE("what was packed is what is read, whatever the number of threads") {
  const Folder folder;
  const auto sets = inMemory(60);
  auto packed = pack(sets, folder / "one", {.size = 0, .skip_corrupt = false, .threads = 1});
  REQUIRE_MESSAGE(packed, toString(packed.takeError()));
  REQUIRE(pack(sets, folder / "four", {.size = 0, .skip_corrupt = false, .threads = 4}));
  CHECK(bytesOf(folder / "one") == bytesOf(folder / "four"));
  CHECK(folder.entries() == 2);
  auto read = data::openPacked(folder / "one");
  REQUIRE(read);
  std::vector<uint8_t> scratch;
  for (auto [from, to] :
       {std::pair(sets.train.get(), read->train.get()), std::pair(sets.test.get(), read->test.get())}) {
    REQUIRE(to->count() == from->count());
    CHECK(to->classes() == from->classes());
    CHECK(to->className(3) == "3");
    for (int64_t i = 0; i < to->count(); ++i) {
      auto wanted = from->read(i, scratch), found = to->read(i, scratch);
      REQUIRE(wanted);
      REQUIRE(found);
      CHECK(to->label(i) == from->label(i));
      CHECK(found->channels == 1);
      CHECK(std::equal(wanted->data, wanted->data + wanted->rows * wanted->cols, found->data));
    }
  }
}

TEST_CASE("colour is packed as it is decoded, and scaled as the loader would scale it") {
  const Folder folder;
  for (const char* set : {"train", "test"})
    for (const char* name : {"b ä", "a"}) fs::create_directories(fs::path(folder.path) / "images" / set / name);
  for (const char* set : {"train", "test"}) {
    fs::copy_file(kGolden / "420.jpg", fs::path(folder.path) / "images" / set / "a" / "0.jpg");
    fs::copy_file(kGolden / "rgb.png", fs::path(folder.path) / "images" / set / "b ä" / "1.png");
  }
  auto sets = data::openFolder(folder / "images");
  REQUIRE(sets);
  for (const int64_t size : {0, 20}) {
    auto packed = pack(*sets, folder / "packed", {.size = size, .skip_corrupt = false, .threads = 1});
    REQUIRE_MESSAGE(packed, toString(packed.takeError()));
    const int64_t rows = size == 0 ? 36 : size, cols = size == 0 ? 48 : size;
    auto read = data::openPacked(folder / "packed");
    REQUIRE(read);
    CHECK(read->test->className(1) == "b ä");
    const data::Preparer preparer({rows, cols, 3, data::Layout::Nhwc, data::Element::UInt8, false});
    std::vector<uint8_t> scratch, wanted(size_t(rows * cols * 3));
    for (int64_t i = 0; i < 2; ++i) {
      REQUIRE(!preparer.fill(*sets->train, i, wanted.data(), scratch));
      auto pixels = read->train->read(i, scratch);
      REQUIRE(pixels);
      CHECK(pixels->rows == rows);
      CHECK(std::equal(wanted.begin(), wanted.end(), pixels->data));
    }
  }
}

TEST_CASE("images of several sizes, and corrupt ones, are refused by name or left out") {
  const Folder folder;
  for (const char* set : {"train", "test"}) {
    fs::create_directories(fs::path(folder.path) / "images" / set / "a");
    for (const char* name : {"0.jpg", "1.jpg", "2.jpg"})
      fs::copy_file(kGolden / "420.jpg", fs::path(folder.path) / "images" / set / "a" / name);
  }
  const std::string victim = folder / "images/train/a/1.jpg";
  fs::resize_file(victim, 400);
  auto sets = data::openFolder(folder / "images");
  REQUIRE(sets);
  PackOptions options{.size = 0, .skip_corrupt = false, .threads = 2};
  auto packed = pack(*sets, folder / "packed", options);
  REQUIRE(!packed);
  const std::string text = toString(packed.takeError());
  CHECK(text.starts_with(victim + ": damaged JPEG"));
  CHECK(text.find("--skip-corrupt") != std::string::npos);
  CHECK(folder.entries() == 1);  // neither the file nor a half one

  options.skip_corrupt = true;
  packed = pack(*sets, folder / "packed", options);
  REQUIRE(packed);
  CHECK(packed->header.train == 2);
  CHECK(packed->header.test == 3);
  REQUIRE(packed->left_out.size() == 1);
  CHECK(packed->left_out[0].starts_with(victim));
  CHECK(judge(folder / "packed") == "well");

  fs::copy_file(kGolden / "422_odd.jpg", victim, fs::copy_options::overwrite_existing);
  packed = pack(*sets, folder / "packed", options);
  REQUIRE(!packed);
  CHECK(toString(packed.takeError()).find("scale them all with --size") != std::string::npos);
  CHECK(judge(folder / "packed") == "well");  // the one from before
}

TEST_CASE("a file that is cut off at any place is refused with its name") {
  const Folder folder;
  const auto bytes = example(folder);
  CHECK(judge(folder / "example") == "well");
  for (size_t length = 0; length < bytes.size(); length += length < 200 ? 1 : 487) {
    writeBytes(folder / "cut", {bytes.begin(), bytes.begin() + ptrdiff_t(length)});
    const std::string said = judge(folder / "cut");
    CAPTURE(length);
    CHECK(said.starts_with(folder / "cut: "));
  }
  auto longer = bytes;
  longer.push_back(0);
  writeBytes(folder / "cut", longer);
  CHECK(judge(folder / "cut").find("bytes, expected") != std::string::npos);
}

TEST_CASE("one flipped bit anywhere is found, and says which image it is in") {
  const Folder folder;
  const auto bytes = example(folder);
  std::mt19937 random(1);
  data::PackedHeader header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (int i = 0; i < 400; ++i) {
    auto changed = bytes;
    const size_t at =
        i < 200 ? random() % header.pixels_at : header.pixels_at + random() % (bytes.size() - header.pixels_at);
    changed[at] = char(changed[at] ^ (1 << (random() % 8)));
    writeBytes(folder / "flipped", changed);
    const std::string said = judge(folder / "flipped");
    CAPTURE(at);
    REQUIRE(said.starts_with(folder / "flipped: "));
    if (at < header.pixels_at) continue;
    const uint64_t image = (at - header.pixels_at) / header.imageBytes();
    const std::string name = image < header.train ? "training image " + std::to_string(image)
                                                  : "test image " + std::to_string(image - header.train);
    CHECK(said.find(": " + name + " (class ") != std::string::npos);
  }
}

TEST_CASE("a header that lies is refused, also with the right sum") {
  const Folder folder;
  const auto bytes = example(folder);
  const auto said = [&](void (*change)(data::PackedHeader&)) {
    writeBytes(folder / "lie", withHeader(bytes, change));
    return judge(folder / "lie");
  };
  using H = data::PackedHeader;
  CHECK(said([](H&) {}) == "well");
  const std::string senseless = "its header is inconsistent";
  for (auto change :
       {+[](H& h) { h.rows = 0; }, +[](H& h) { h.cols = 1u << 31; }, +[](H& h) { h.channels = 2; },
        +[](H& h) { h.train = 0; }, +[](H& h) { h.train = ~uint64_t{0}; }, +[](H& h) { h.test = uint64_t{1} << 40; },
        +[](H& h) { h.classes = 0; }, +[](H& h) { h.name_bytes = ~uint64_t{0} - 50; }, +[](H& h) { h.pixels_at = 96; },
        +[](H& h) { h.file_bytes = 96; }, +[](H& h) { h.train += 1; }, +[](H& h) { h.rows = 29; }})
    CHECK(said(change).find(senseless) != std::string::npos);
  CHECK(said([](H& h) { h.version = 2; }).find("version 2") != std::string::npos);
  CHECK(said([](H& h) { h.classes = 9; }).find("cannot be read") != std::string::npos);
  CHECK(said([](H& h) { h.magic[0] = 'E'; }).find("not a packed file") != std::string::npos);
  CHECK(judge(folder / "gone").find("no such file") != std::string::npos);
  CHECK(judge(folder.path).find("not a file") != std::string::npos);

  // Labels beyond the classes, with sums that fit.
  auto labels = bytes;
  data::PackedHeader header;
  std::memcpy(&header, labels.data(), sizeof(header));
  const uint32_t wrong = 10;
  std::memcpy(labels.data() + sizeof(header) + header.images() * 8 + 4, &wrong, 4);
  header.index_sum = data::packedSum({reinterpret_cast<const uint8_t*>(labels.data()) + sizeof(header),
                                      reinterpret_cast<const uint8_t*>(labels.data()) + header.pixels_at});
  header.header_sum = data::headerSum(header);
  std::memcpy(labels.data(), &header, sizeof(header));
  writeBytes(folder / "lie", labels);
  CHECK(judge(folder / "lie").find("training image 1 has label 10, expected 0 to 9") != std::string::npos);
}

/// The exit status of `body` in a process whose files can have at most `bytes`: the same path as a full disk.
template <typename Body>
int withSmallFiles(rlim_t bytes, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a disk that is full leaves neither a half file nor a changed one") {
  const Folder folder;
  const auto before = example(folder);
  const auto sets = inMemory(40);
  const int code = withSmallFiles(20'000, [&] {
    auto packed = pack(sets, folder / "example", {.size = 0, .skip_corrupt = false, .threads = 1});
    if (packed) return 1;
    const std::string said = toString(packed.takeError());
    return said.starts_with(folder / "example: ") ? 0 : 2;
  });
  CHECK(code == 0);
  CHECK(bytesOf(folder / "example") == before);
  CHECK(folder.entries() == 1);
  CHECK(withSmallFiles(500, [&] {
          auto error = makeShapes(folder / "shapes", {.size = 64, .count = 10, .classes = 2}, false);
          return error ? (consumeError(std::move(error)), 0) : 1;
        }) == 0);
  CHECK(folder.entries() == 1);
}

TEST_CASE("a wish to stop is heeded, and nothing is left") {
  const Folder folder;
  const auto sets = inMemory(60);
  // One thread: with others all images may be packed before this one is asked again.
  auto packed = pack(sets, folder / "packed", {.size = 0, .skip_corrupt = false, .threads = 1},
                     [](int64_t done, int64_t) -> Error {
                       if (done < 10) return Error::success();
                       return llvm::createStringError(llvm::inconvertibleErrorCode(), "interrupted");
                     });
  REQUIRE(!packed);
  CHECK(toString(packed.takeError()) == "interrupted");
  CHECK(folder.entries() == 0);
}

}  // namespace
}  // namespace expc::dataset
