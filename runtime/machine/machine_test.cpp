#include "runtime/machine/machine.h"

#include <doctest/doctest.h>
#include <llvm/Support/Error.h>

#include <cstdlib>

#include "runtime/machine/gpus.h"
#include "runtime/machine/probe.h"
#include "runtime/machine/slots.h"

using namespace expc::machine;

namespace {

Machine withCores(int count) {
  Machine machine;
  machine.cpu_model = "Test CPU";
  for (int i = 0; i < count; ++i) machine.allowed.push_back(2 * i);
  machine.cores = count;
  return machine;
}

std::string errorOf(llvm::Expected<std::vector<Slot>> result) {
  REQUIRE(!result);
  return llvm::toString(result.takeError());
}

std::vector<Gpu> threeGpus() {
  std::vector<Gpu> gpus(3);
  for (unsigned i = 0; i < 3; ++i) {
    gpus[i].index = i;
    gpus[i].name = "Test GPU";
    gpus[i].uuid = "GPU-" + std::string(3, char('a' + i));
    gpus[i].cores = {int(i)};
  }
  return gpus;
}

}  // namespace

TEST_CASE("this machine has a name, a boot, memory and at least one core") {
  Machine machine = probe();
  CHECK(!machine.host.empty());
  CHECK(machine.boot_id.size() == 36);
  CHECK(machine.memory_bytes > 0);
  CHECK(!machine.allowed.empty());
  CHECK(machine.threads >= machine.cores);
  auto found = slots(machine);
  REQUIRE(bool(found));
  CHECK(!found->empty());
  CHECK(!summary(machine, *found).empty());
}

TEST_CASE("CPU slots share the cores in equal contiguous parts, four at most unless asked") {
  auto few = slots(withCores(2));
  REQUIRE(bool(few));
  REQUIRE(few->size() == 2);
  CHECK((*few)[0].cores == std::vector<int>{0});
  CHECK((*few)[1].cores == std::vector<int>{2});

  auto many = slots(withCores(10));
  REQUIRE(bool(many));
  REQUIRE(many->size() == 4);
  CHECK((*many)[0].cores == std::vector<int>{0, 2});
  CHECK((*many)[3].cores == std::vector<int>{12, 14});  // two cores are left over, or slots would differ

  auto asked = slots(withCores(10), "cpu:5");
  REQUIRE(bool(asked));
  CHECK(asked->size() == 5);

  Machine limited = withCores(8);
  limited.cpu_quota = 2.5;
  CHECK(llvm::cantFail(slots(limited)).size() == 2);
}

TEST_CASE("a wrong --devices says what is possible") {
  CHECK(errorOf(slots(withCores(2), "two")).find("expected a number") != std::string::npos);
  CHECK(errorOf(slots(withCores(2), "cpu:")).find("expected a number") != std::string::npos);
  CHECK(errorOf(slots(withCores(2), "0")).find("at least one") != std::string::npos);
  CHECK(errorOf(slots(withCores(2), "3")) ==
        "--devices 3: this machine offers 2 cores, one for each CPU device (cpu:3 lets devices share cores: to try a "
        "study, "
        "not to measure)");
  CHECK(errorOf(slots(withCores(2), "cpu:33")) ==
        "--devices cpu:33: this machine offers 2 cores, for at most 32 CPU devices");
  CHECK(errorOf(slots(withCores(2), "2x")).find("expected a number") != std::string::npos);
}

TEST_CASE("cpu:N may ask for more slots than cores; they share, it is said, and nothing else is compared with it") {
  const Machine machine = withCores(2);
  const auto four = llvm::cantFail(slots(machine, "cpu:4"));
  REQUIRE(four.size() == 4);
  CHECK(four[0].cores == four[2].cores);
  CHECK(four[0].cores != four[1].cores);
  CHECK(summary(machine, four).find("4 CPU devices that share 2 cores") != std::string::npos);
  CHECK(environmentClass(machine, four, nullptr) != environmentClass(withCores(4), four, nullptr));
}

TEST_CASE("GPUs are the slots where there are any") {
  Machine machine = withCores(4);
  machine.gpus = threeGpus();
  CHECK(llvm::cantFail(slots(machine)).size() == 3);
  CHECK(llvm::cantFail(slots(machine, "2"))[1].uuid == "GPU-bbb");
  CHECK(!llvm::cantFail(slots(machine, "cpu:2"))[0].gpu);
  CHECK(errorOf(slots(machine, "4")) == "--devices 4: this machine offers 3 GPUs");
}

TEST_CASE("CUDA_VISIBLE_DEVICES selects and orders") {
  std::string note;
  auto chosen = visible(threeGpus(), "2, GPU-a", note);
  REQUIRE(chosen.size() == 2);
  CHECK(chosen[0].index == 2);
  CHECK(chosen[1].index == 0);
  CHECK(note.empty());
  CHECK(visible(threeGpus(), "", note).empty());
  CHECK(visible(threeGpus(), "-1", note).empty());
  CHECK(note.empty());
  CHECK(visible(threeGpus(), "1,7,0", note).size() == 1);
  CHECK(note == "CUDA_VISIBLE_DEVICES names no GPU with '7'");
  CHECK(visible(threeGpus(), "MIG-0a1b,0", note).empty());
  CHECK(note.find("expc measures on whole GPUs") != std::string::npos);
}

TEST_CASE("the environment class changes with what changes a measurement and with nothing else") {
  Machine machine = withCores(2);
  auto two = llvm::cantFail(slots(machine));
  llvm::json::Value libraries = llvm::json::Object{{"torch", "2.11.0"}, {"gloo", "1"}};
  llvm::json::Value same = llvm::json::Object{{"gloo", "1"}, {"torch", "2.11.0"}};
  std::string one = environmentClass(machine, two, libraries);
  CHECK(one.size() == 16);
  CHECK(one == environmentClass(machine, two, same));
  Machine elsewhere = machine;
  elsewhere.host = "other";
  elsewhere.boot_id = "x";
  CHECK(one == environmentClass(elsewhere, two, libraries));
  elsewhere.cpu_model = "Other CPU";
  CHECK(one != environmentClass(elsewhere, two, libraries));
  CHECK(one != environmentClass(machine, two, llvm::json::Object{{"torch", "2.12.0"}, {"gloo", "1"}}));
  CHECK(one != environmentClass(machine, llvm::cantFail(slots(machine, "1")), libraries));
  CHECK(environmentClass(machine, two, llvm::json::Object{{"nccl", 22809}}) !=
        environmentClass(machine, two, llvm::json::Object{{"nccl", 22900}}));
  machine.gpus = threeGpus();
  const auto gpus = llvm::cantFail(slots(machine));
  machine.gpus[0].null = true;
  const std::string null = environmentClass(machine, llvm::cantFail(slots(machine)), libraries);
  CHECK(environmentClass(machine, gpus, libraries) != null);
  // The name of a null card does not tell its memory, which decides whether a study fits.
  machine.gpus[0].memory_bytes += 1;
  CHECK(environmentClass(machine, llvm::cantFail(slots(machine)), libraries) != null);
}

TEST_CASE("an NVML that is not there is no error") {
  setenv("EXPC_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1", 1);
  Machine answer;
  readGpus(answer);
  unsetenv("EXPC_NVML_LIBRARY");
  CHECK(answer.gpus.empty());
  CHECK(answer.notes.empty());
}

TEST_CASE("what NVML says becomes GPUs with cores, and slots") {
  setenv("EXPC_NVML_LIBRARY", EXPC_FAKE_NVML, 1);
  Machine answer;
  readGpus(answer);
  CHECK(answer.gpu_driver == "580.00");
  CHECK(answer.cuda_driver == 13000);
  CHECK(answer.nvml_library == EXPC_FAKE_NVML);
  REQUIRE(answer.gpus.size() == 2);
  CHECK(answer.gpus[1].name == "Fake GPU");
  CHECK(answer.gpus[1].uuid == "GPU-fake-1");
  CHECK(answer.gpus[1].memory_bytes == 1ull << 30);
  CHECK(answer.gpus[1].pci_bus == "0000:18:00.0");
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  Machine machine = probe();
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("EXPC_NVML_LIBRARY");
  auto found = llvm::cantFail(slots(machine));
  REQUIRE(found.size() == 1);
  CHECK(found[0].gpu);
  CHECK(found[0].uuid == "GPU-fake-1");
  CHECK(!found[0].cores.empty());
  CHECK(machine.gpu_driver == "580.00");
}
