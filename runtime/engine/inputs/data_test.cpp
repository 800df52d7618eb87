#include "runtime/engine/inputs/data.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/folder.h"

namespace expc::engine::inputs {
namespace {

namespace fs = std::filesystem;

Error noTick() { return Error::success(); }

/// A folder with a folder of data in it, and one for copies.
struct Disk : test::TestFolder {
  Disk() {
    fs::create_directories(path + "/data/digits/train");
    write("data/digits/train/0.png", "a picture");
    write("data/digits/labels", "0");
    plan.root = path;
    plan.data_paths = {"data/digits"};
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(path + "/" + name) << text; }
  ScratchCopy copy() const {
    auto digests = cantFail(digestData(plan, noTick));
    return scratchCopies(plan, digests, path + "/local").at("data/digits");
  }
  static std::string text(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// The number of entries in the folder of copies: the copies, and parts that were left behind.
  size_t entries() const {
    const fs::path folder = fs::path(copy().to).parent_path().parent_path();
    return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
  }

  plan::Plan plan;
};

}  // namespace

TEST_CASE("a copy has all that the data have, in a folder of this user's, and is made once") {
  const Disk disk;
  const ScratchCopy copy = disk.copy();
  CHECK(fs::path(copy.to).filename() == "digits");
  cantFail(makeCopy(copy, noTick));
  CHECK(Disk::text(copy.to + "/train/0.png") == "a picture");
  CHECK(cantFail(digestPath(copy.to, noTick)) == copy.digest);
  struct stat state{};
  REQUIRE(stat(fs::path(copy.to).parent_path().parent_path().c_str(), &state) == 0);
  CHECK((state.st_mode & 0777) == 0700);
  const auto made = fs::last_write_time(copy.to + "/labels");
  cantFail(makeCopy(copy, noTick));
  CHECK(fs::last_write_time(copy.to + "/labels") == made);
  CHECK(disk.entries() == 1);
}

TEST_CASE("a copy that is not what it was is made anew") {
  const Disk disk;
  const ScratchCopy copy = disk.copy();
  cantFail(makeCopy(copy, noTick));
  std::ofstream(copy.to + "/train/0.png") << "another picture";
  cantFail(makeCopy(copy, noTick));
  CHECK(Disk::text(copy.to + "/train/0.png") == "a picture");
  fs::remove(copy.to + "/labels");
  cantFail(makeCopy(copy, noTick));
  CHECK(Disk::text(copy.to + "/labels") == "0");
  CHECK(disk.entries() == 1);
}

TEST_CASE("nothing is left of a copy that cannot be made") {
  const Disk disk;
  const ScratchCopy copy = disk.copy();
  disk.write("data/digits/labels", "1");
  CHECK(toString(makeCopy(copy, noTick)).find("has changed since its digest was taken") != std::string::npos);
  CHECK(disk.entries() == 0);
  disk.write("data/digits/labels", "0");
  unsigned ticks = 0;
  const auto stop = [&]() -> Error { return ++ticks == 2 ? llvm::createStringError("stop") : noTick(); };
  CHECK(toString(makeCopy(copy, stop)) == "stop");
  CHECK(disk.entries() == 0);
  ScratchCopy full = copy;
  full.to = "/dev/null/expc-data-0/x/digits";
  const std::string error = toString(makeCopy(full, noTick));
  CHECK(error.find("cannot copy") != std::string::npos);
  CHECK(error.find("--scratch") != std::string::npos);
}

TEST_CASE("a program stays where it is") {
  Disk disk;
  disk.write("run.sh", "exit 0");
  chmod((disk.path + "/run.sh").c_str(), 0755);
  disk.plan.data_paths.push_back("run.sh");
  const auto copies = scratchCopies(disk.plan, cantFail(digestData(disk.plan, noTick)), "/local");
  REQUIRE(copies.size() == 1);
  CHECK(copies.contains("data/digits"));
}

}  // namespace expc::engine::inputs
