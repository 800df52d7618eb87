
#include "runtime/machine/gpus.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "runtime/base/json_record.h"
#include "runtime/machine/probe.h"
#include "runtime/machine/slots.h"
#include "tests/support/folder.h"

using namespace expc::machine;
using expc::base::written;

namespace {

/// Sets an environment variable of this process for its lifetime.
struct Variable {
  Variable(const char* name, const char* value) : name(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name); }
  const char* name;
};

/// A folder with the names of the null libraries.
struct Libraries : expc::test::TestFolder {
  explicit Libraries(bool with_preload = true) {
    std::filesystem::copy(EXPC_FAKE_NVML, path + "/libnvidia-ml.so.1");
    if (with_preload) std::ofstream(path + "/libnullgpu_preload.so") << "x";
  }
};

std::string errorOf(std::string_view text, const std::string& folder) {
  auto asked = nullGpusFrom(text, folder);
  REQUIRE(!asked);
  return llvm::toString(asked.takeError());
}

bool has(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

TEST_CASE("--null-gpus says how many cards, and how large") {
  const Libraries libraries;
  const NullGpus four = llvm::cantFail(nullGpusFrom("4", libraries.path));
  CHECK(four.cards == 4);
  CHECK(four.memory.empty());
  CHECK(four.library == libraries.path + "/libnvidia-ml.so.1");
  const NullGpus large = llvm::cantFail(nullGpusFrom("8x94GiB", libraries.path));
  CHECK(large.cards == 8);
  CHECK(large.memory == "94GiB");
  CHECK(llvm::cantFail(nullGpusFrom("found", "/nonexistent")).cards == 0);
  for (const char* wrong : {"", "0", "four", "4x", "4xlots", "4x8Gb", "4x94", "-1", "65", "4 "})
    CHECK(errorOf(wrong, libraries.path).find("such as 4 or 4x94GiB") != std::string::npos);
  CHECK(errorOf("2", "/nonexistent").find("`make cuda` builds") != std::string::npos);
  CHECK(errorOf("2", Libraries(false).path).find("libnullgpu_preload.so is not in") != std::string::npos);
}

TEST_CASE("null cards that a machine shows are no GPUs unless they are asked for") {
  const Variable library("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML), uuid("EXPC_FAKE_UUID", "GPU-6e756c6c-000");
  const Machine machine = probe();
  CHECK(machine.gpus.empty());
  CHECK(!llvm::cantFail(slots(machine)).front().gpu);
  CHECK(has(machine.notes,
            "the 2 simulated GPUs of this machine compute nothing and are not used (--null-gpus found uses them)"));

  const Machine asked = probe(NullGpus{});
  const auto found = llvm::cantFail(slots(asked));
  REQUIRE(found.size() == 2);
  CHECK(found[1].null);
  CHECK(found[1].toJson().getBoolean("null").value_or(false));
  CHECK(asked.notes.empty());
  CHECK((*written(asked).getArray("gpus"))[0].getAsObject()->getBoolean("null").value_or(false));
}

TEST_CASE("real GPUs are none where null cards are asked for, and that there are none is said") {
  const Variable library("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML);
  CHECK(probe().gpus.size() == 2);
  const Machine machine = probe(NullGpus{});
  CHECK(machine.gpus.empty());
  auto none = slots(machine);
  REQUIRE(!none);
  CHECK(llvm::toString(none.takeError()).find("--null-gpus 4 simulates four") != std::string::npos);
}

TEST_CASE("the null cards of the libraries are asked for by number, whatever this machine shows and leaves visible") {
  const Libraries libraries;
  const Variable uuid("EXPC_FAKE_UUID", "GPU-6e756c6c-000"), hidden("CUDA_VISIBLE_DEVICES", "");
  setenv("NULLGPU_CARDS", "1", 1);
  const Machine machine = probe(llvm::cantFail(nullGpusFrom("3x1GiB", libraries.path)));
  CHECK(std::string(std::getenv("NULLGPU_CARDS")) == "1");  // as before
  CHECK(!std::getenv("NULLGPU_MEMORY"));
  unsetenv("NULLGPU_CARDS");
  CHECK(llvm::cantFail(slots(machine)).size() == 3);
  CHECK(llvm::cantFail(slots(machine, "2")).size() == 2);

  const std::vector<std::string> environment = nullEnvironment(machine, "/tmp/machine");
  CHECK(has(environment, "NULLGPU_CARDS=3"));
  CHECK(has(environment, "NULLGPU_MEMORY=1GiB"));
  CHECK(has(environment, "NULLGPU_MACHINE=/tmp/machine"));
  CHECK(has(environment, "EXPC_NVML_LIBRARY=" + libraries.path + "/libnvidia-ml.so.1"));
  CHECK(has(environment, "LD_PRELOAD=" + libraries.path + "/libnullgpu_preload.so"));
  CHECK(has(environment, "LD_LIBRARY_PATH=" + libraries.path));
  const Variable machine_file("NULLGPU_MACHINE", "/tmp/other");
  CHECK(!has(nullEnvironment(machine, "/tmp/machine"), "NULLGPU_MACHINE=/tmp/machine"));
  CHECK(has(nullEnvironment(machine, "/tmp/machine"), "NULLGPU_MACHINE=/tmp/other"));
}

TEST_CASE("a GPU that is divided is left out, with the way to make it whole") {
  const Variable library("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML), divided("EXPC_FAKE_DIVIDED", "1");
  const Machine machine = probe();
  REQUIRE(machine.gpus.size() == 1);
  CHECK(machine.gpus[0].index == 0);
  REQUIRE(machine.notes.size() == 1);
  CHECK(machine.notes[0].find("nvidia-smi -i 1 -mig 0") != std::string::npos);
}
