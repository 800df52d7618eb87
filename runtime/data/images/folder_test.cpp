#include "tests/support/folder.h"

#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/images/decode.h"
#include "runtime/data/images/open.h"
#include "runtime/data/images/preparer.h"
#include "tests/source_dir.h"

namespace expc::data {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(expc::test::sourceDir()) / "tests/parity/golden/images";

class Tree {
 public:
  std::string path(const std::string& name = "") const {
    return name.empty() ? root_.string() : (root_ / name).string();
  }
  void image(const std::string& name, const std::string& golden) const {
    fs::create_directories((root_ / name).parent_path());
    fs::copy_file(kGolden / golden, root_ / name, fs::copy_options::overwrite_existing);
  }
  void text(const std::string& name, const std::string& content) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << content;
  }

 private:
  test::TestFolder made_;
  const fs::path root_ = made_.path;
};

std::string messageOf(const std::string& path) {
  auto sets = openFolder(path);
  return sets ? "none" : toString(sets.takeError());
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

TEST_CASE("classes and files are in the order of torchvision's ImageFolder") {
  const Tree tree;
  tree.image("train/dog/b.jpg", "420.jpg");
  tree.image("train/dog/a.PNG", "rgb.png");
  tree.image("train/dog/sub/0.jpeg", "grey.jpg");
  tree.image("train/dog/sub-2/0.jpg", "422_odd.jpg");
  tree.image("train/dog/sub/deep/0.jpg", "422_odd.jpg");
  tree.image("train/Cat/x.jpg", "444.jpg");
  tree.text("train/Cat/notes.txt", "no image");
  tree.image("test/Cat/x.jpg", "444.jpg");
  tree.image("test/dog/x.jpg", "444.jpg");
  auto sets = openFolder(tree.path());
  REQUIRE_MESSAGE(sets, toString(sets.takeError()));
  const Images& train = *sets->train;
  const std::vector<std::string> wanted = {"Cat/x.jpg",      "dog/a.PNG",       "dog/b.jpg",
                                           "dog/sub/0.jpeg", "dog/sub-2/0.jpg", "dog/sub/deep/0.jpg"};
  REQUIRE(train.count() == int64_t(wanted.size()));
  CHECK(train.classes() == 2);
  for (size_t i = 0; i < wanted.size(); ++i) {
    CHECK(train.file(i) == tree.path("train/" + wanted[i]));
    CHECK(train.label(i) == (i == 0 ? 0 : 1));
  }
  std::vector<uint8_t> scratch;
  auto pixels = train.read(1, scratch);
  REQUIRE(pixels);
  CHECK(pixels->rows == 36);
  CHECK(pixels->cols == 48);
  CHECK(pixels->channels == 3);
}

TEST_CASE("an image that fits is decoded where it is wanted, another one is not") {
  const Tree tree;
  tree.image("a/x.jpg", "420.jpg");
  tree.image("a/y.jpg", "422_odd.jpg");
  auto images = openClasses(tree.path());
  REQUIRE(images);
  std::vector<uint8_t> scratch, out(36 * 48 * 3), again;
  auto pixels = (*images)->readInto(0, {36, 48, 3}, out.data(), scratch);
  REQUIRE(pixels);
  CHECK(pixels->data == out.data());
  CHECK(scratch.empty());
  auto other = (*images)->readInto(1, {36, 48, 3}, out.data(), scratch);
  REQUIRE(other);
  CHECK(other->data == scratch.data());

  const Preparer preparer({36, 48, 3, Layout::Nhwc, Element::UInt8, false});
  again.resize(out.size());
  REQUIRE(!preparer.fill(**images, 0, again.data(), scratch));
  CHECK(again == out);
  REQUIRE(!preparer.fill(**images, 1, again.data(), scratch));
  CHECK(again != out);
}

TEST_CASE("a damaged image is an error of its own that names the file; a missing one is another") {
  const Tree tree;
  for (const char* name : {"420.jpg", "progressive_odd.jpg", "rgb.png", "grey4_interlaced.png"}) {
    tree.image(std::string("a/") + name, name);
    const fs::path path = tree.path(std::string("a/") + name);
    fs::resize_file(path, fs::file_size(path) * 2 / 3);
  }
  tree.image("a/cmyk.jpg", "cmyk.jpg");
  tree.text("a/empty.jpg", "");
  tree.text("a/text.png", "not an image");
  // Only a header, which asks for 2^31 pixels.
  tree.text("a/huge.png", std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xb5\0\0\0\xb5\0\x08\x02\0\0\0\0\0\0\0", 33));
  tree.image("a/zz_gone.jpg", "420.jpg");
  auto images = openClasses(tree.path());
  REQUIRE(images);
  fs::remove(tree.path("a/zz_gone.jpg"));
  std::vector<uint8_t> scratch;
  const int64_t last = (*images)->count() - 1;
  for (int64_t i = 0; i <= last; ++i) {
    CAPTURE((*images)->file(i));
    auto pixels = (*images)->read(i, scratch);
    REQUIRE(!pixels);
    Error error = pixels.takeError();
    CHECK(error.isA<CorruptImage>() == (i != last));
    const std::string message = toString(std::move(error));
    has(message, (*images)->file(i) + ": ");
    if (message.find("huge.png") != std::string::npos)
      has(message, "too large: its header says 46336 x 46336 pixels, expected 1 to 16384 each way");
  }
  CHECK(scratch.size() < 1'000'000);
}

TEST_CASE("an image that is cut off anywhere does no harm to the next one") {
  const Tree tree;
  std::vector<uint8_t> scratch, wanted, again;
  for (const char* name : {"420.jpg", "progressive_odd.jpg", "grey.png", "rgb_interlaced_odd.png"}) {
    CAPTURE(name);
    tree.image("a/0", name);
    const std::string path = tree.path("a/0");
    auto file = llvm::MemoryBuffer::getFile(path, false, false);
    REQUIRE(file);
    const ArrayRef<uint8_t> bytes((*file)->getBuffer().bytes_begin(), (*file)->getBufferSize());
    const Destination to{{}, nullptr, &scratch};
    auto whole = decode(bytes, to);
    REQUIRE(whole);
    const auto size = size_t(whole->rows * whole->cols * 3);
    wanted.assign(whole->data, whole->data + size);
    for (size_t length = 1; length < bytes.size(); length += length < 700 ? 1 : 29) {
      CAPTURE(length);
      auto cut = decode(bytes.take_front(length), to);
      // The decoder does not need the bytes behind the last pixel.
      if (cut) CHECK(length + 16 > bytes.size());
      consumeError(cut.takeError());
      auto next = decode(bytes, to);
      REQUIRE_MESSAGE(next, toString(next.takeError()));
      again.assign(next->data, next->data + size);
      CHECK(again == wanted);
    }
  }
}

TEST_CASE("what is no class folder is refused with its name") {
  const Tree tree;
  has(messageOf(tree.path("gone")), "no such folder; expected one with train/CLASS");
  tree.image("train/a/x.jpg", "420.jpg");
  has(messageOf(tree.path()), "no folder test in it");
  tree.text("test/readme", "");
  has(messageOf(tree.path()), "/test: no folder in it, expected one for each class");
  tree.text("test/a/readme", "");
  has(messageOf(tree.path()), "/test/a: no JPEG or PNG file in this class");
  tree.image("test/a/x.jpg", "420.jpg");
  CHECK(messageOf(tree.path()) == "none");
  tree.image("test/b/x.jpg", "420.jpg");
  has(messageOf(tree.path()), "/test: class b is not one of");
  tree.image("train/b/x.jpg", "420.jpg");
  tree.image("train/c/x.jpg", "420.jpg");
  has(messageOf(tree.path()), "/test: class c is missing");
  tree.image("test/c/x.jpg", "420.jpg");
  tree.text("test/c/y.webp", "");
  has(messageOf(tree.path()), "/test/c/y.webp: expected JPEG or PNG");
  fs::remove(tree.path("test/c/y.webp"));
  fs::create_directory_symlink("..", tree.path("train/c/loop"));
  has(messageOf(tree.path()), "without end");
}

}  // namespace
}  // namespace expc::data
