#include "runtime/worker/workload/checkpoint.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <system_error>
#include <utility>

#include "runtime/worker/model/state_file.h"
#include "tests/support/folder.h"

using namespace expc::workload;
using llvm::json::Object;
namespace fs = llvm::sys::fs;
namespace model = expc::model;

namespace {

struct Place : expc::test::TestFolder {
  CheckpointFolder folder(Object facts = Object{{"seed", "7"}, {"threads", "1"}}) const {
    return CheckpointFolder(path, {"trial", std::move(facts)});
  }
  std::string epoch(const char* number) const { return path + "/trial/epoch-" + number; }
};

std::vector<model::NamedTensor> tensors(double value) { return {{"a", at::full({3}, value)}}; }

std::string save(const CheckpointFolder& folder, int64_t epochs) {
  return llvm::toString(
      folder.save(epochs, tensors(double(epochs)), tensors(0.5), Object{{"loss", 0.1 * double(epochs)}}));
}

std::string refusal(const CheckpointFolder& folder) {
  auto found = folder.newest();
  return found ? "" : llvm::toString(found.takeError());
}

std::string bytesOf(const std::string& path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  REQUIRE(bool(file));
  return (*file)->getBuffer().str();
}

void write(const std::string& path, llvm::StringRef bytes) {
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << bytes;
  REQUIRE_FALSE(code);
}

bool contains(const std::string& text, const std::string& part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) MESSAGE("'" << text << "' does not contain '" << part << "'");
  return found;
}

}  // namespace

TEST_CASE("the newest checkpoint is found as it was written, the one before is gone") {
  Place place;
  auto folder = place.folder();
  auto none = folder.newest();
  REQUIRE(bool(none));
  CHECK_FALSE(none->has_value());
  REQUIRE_FALSE(bool(folder.prepare()));
  REQUIRE(save(folder, 1).empty());
  REQUIRE(save(folder, 2).empty());
  CHECK_FALSE(fs::exists(place.epoch("000001")));
  auto found = folder.newest();
  REQUIRE(bool(found));
  REQUIRE(found->has_value());
  const auto& checkpoint = **found;
  CHECK(checkpoint.epochs == 2);
  CHECK(checkpoint.path == place.epoch("000002"));
  CHECK(checkpoint.content.getNumber("loss") == 0.1 * 2);
  const auto* tensor = checkpoint.model.find("a");
  REQUIRE(tensor != nullptr);
  CHECK(at::equal(model::tensorOf(*tensor), at::full({3}, 2.0)));
}

TEST_CASE(
    "what an interrupted writer left is no checkpoint and goes away; an older one beside a newer counts for nothing") {
  Place place;
  auto folder = place.folder();
  REQUIRE_FALSE(bool(folder.prepare()));
  REQUIRE(save(folder, 3).empty());
  REQUIRE_FALSE(fs::create_directory(place.epoch("000004.partial-12")));
  write(place.epoch("000004.partial-12") + "/model.safetensors", "half");
  REQUIRE_FALSE(fs::create_directory(place.epoch("000002")));  // killed between writing the next and removing this
  auto found = folder.newest();
  REQUIRE(bool(found));
  CHECK((*found)->epochs == 3);
  REQUIRE_FALSE(bool(folder.prepare()));
  CHECK_FALSE(fs::exists(place.epoch("000004.partial-12")));
  CHECK_FALSE(fs::exists(place.epoch("000002")));
  CHECK(fs::exists(place.epoch("000003")));
}

TEST_CASE("any damage is seen and named") {
  Place place;
  const auto folder = place.folder();
  REQUIRE(save(folder, 1).empty());
  for (const char* name : {"model.safetensors", "state.safetensors", "checkpoint.json"}) {
    const std::string path = place.epoch("000001") + "/" + name, whole = bytesOf(path);
    for (size_t i = 0; i < whole.size(); i += 7) {
      std::string changed = whole;
      changed[i] = char(changed[i] ^ 4);
      write(path, changed);
      REQUIRE(contains(refusal(folder), path));
    }
    for (size_t size : {size_t{0}, size_t{5}, whole.size() / 2}) {
      write(path, whole.substr(0, size));
      REQUIRE(contains(refusal(folder), "the checkpoint is damaged: " + path));
    }
    fs::remove(path);
    CHECK(contains(refusal(folder), path + ": No such file"));
    CHECK(contains(refusal(folder), "Remove " + place.epoch("000001")));
    write(path, whole);
    CHECK(refusal(folder).empty());
  }
}

TEST_CASE("a checkpoint of another trial is refused with what differs") {
  Place place;
  REQUIRE(save(place.folder(), 1).empty());
  const std::string said = refusal(place.folder(Object{{"seed", "7"}, {"threads", "2"}, {"torch", "9"}}));
  CHECK(contains(said, "(threads 1 there, 2 here; torch none there, 9 here)"));
  CHECK(contains(said, place.epoch("000001")));
  CHECK(contains(said, "Remove it to start the trial over"));
}

TEST_CASE("at the end the model stays") {
  Place place;
  const auto folder = place.folder();
  REQUIRE(save(folder, 5).empty());
  auto path = folder.finish(5);
  REQUIRE(bool(path));
  CHECK(*path == folder.path() + "/model.safetensors");
  CHECK(fs::exists(*path));
  CHECK_FALSE(fs::exists(place.epoch("000005")));
  auto found = folder.newest();
  REQUIRE(bool(found));
  CHECK_FALSE(found->has_value());
}

TEST_CASE("where checkpoints cannot be kept is said at once, and a second writer is noticed") {
  Place place;
  write(place.path + "/trial", "a file");
  CHECK(contains(llvm::toString(place.folder().prepare()), "Name a writable folder"));
  fs::remove(place.path + "/trial");
  REQUIRE(save(place.folder(), 1).empty());
  const std::string said = save(place.folder(), 1);
  CHECK(contains(said, "cannot write the checkpoint after epoch 1"));
  CHECK(contains(said, "not empty"));
}

TEST_CASE("two processes do not run one trial in one folder") {
  Place place;
  auto first = place.folder(), second = place.folder();
  REQUIRE_FALSE(bool(first.prepare()));
  REQUIRE_FALSE(bool(first.prepare()));
  CHECK(contains(llvm::toString(second.prepare()), "another process is running this trial"));
  first = place.folder();
  CHECK_FALSE(bool(second.prepare()));
}
