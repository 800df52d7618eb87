#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <nvml.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/tests/child.h"

using namespace nullgpu;

namespace {

/// A function of the library by its name, as expc and torch find it.
template <typename... Args>
int call(const char* name, Args... args) {
  static void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  REQUIRE_MESSAGE((function != nullptr), name);
  return function(args...);
}

nvmlDevice_t device(unsigned card) {
  nvmlDevice_t found = nullptr;
  CHECK(call("nvmlDeviceGetHandleByIndex_v2", card, &found) == NVML_SUCCESS);
  return found;
}

/// Keeps the library initialised as long as it lives.
struct Session {
  Session() { CHECK(call("nvmlInit_v2") == NVML_SUCCESS); }
  ~Session() { CHECK(call("nvmlShutdown") == NVML_SUCCESS); }
};

template <typename Number>
Number ask(const char* name, nvmlDevice_t of) {
  Number number{};
  CHECK(call(name, of, &number) == NVML_SUCCESS);
  return number;
}

std::string textOf(const char* name, nvmlDevice_t of) {
  char text[96] = {};
  CHECK(call(name, of, &text[0], 96u) == NVML_SUCCESS);
  return text;
}

}  // namespace

TEST_CASE("nothing is answered before the library is started, or after it is shut down") {
  unsigned count = 0;
  CHECK(call("nvmlDeviceGetCount_v2", &count) == NVML_ERROR_UNINITIALIZED);
  CHECK(call("nvmlShutdown") == NVML_ERROR_UNINITIALIZED);
  {
    const Session outer;
    {
      const Session inner;
    }
    CHECK(call("nvmlDeviceGetCount_v2", &count) == NVML_SUCCESS);
    CHECK(count == configuration().cards);
  }
  CHECK(call("nvmlDeviceGetCount_v2", &count) == NVML_ERROR_UNINITIALIZED);
}

TEST_CASE("a wrong environment ends a process when the library is started, and not before") {
  const auto outcome = testing::inChild({{"NULLGPU_CARDS", "many"}}, [](std::FILE* out) {
    unsigned count = 0;
    std::fprintf(out, "%d", int(call("nvmlDeviceGetCount_v2", &count) == NVML_ERROR_UNINITIALIZED));
    std::fflush(out);
    call("nvmlInit_v2");
  });
  CHECK(outcome.said == "1");
  CHECK(outcome.code() == 2);
}

TEST_CASE("the versions read like a real driver's") {
  const Session session;
  char text[80] = {};
  CHECK(call("nvmlSystemGetDriverVersion", &text[0], 80u) == NVML_SUCCESS);
  CHECK(std::string(text) == "580.95.05");
  CHECK(call("nvmlSystemGetDriverVersion", &text[0], 5u) == NVML_ERROR_INSUFFICIENT_SIZE);
  int version = 0;
  CHECK(call("nvmlSystemGetCudaDriverVersion_v2", &version) == NVML_SUCCESS);
  CHECK(version == 13000);
}

TEST_CASE("a card is found by number, uuid and bus, and says that it is null") {
  const Session session;
  nvmlDevice_t const second = device(1);
  CHECK(textOf("nvmlDeviceGetName", second) == "Null GPU (computes nothing)");
  const std::string uuid = textOf("nvmlDeviceGetUUID", second);
  CHECK(uuid == cardUuid(1));
  CHECK(ask<unsigned>("nvmlDeviceGetIndex", second) == 1);
  const auto pci = ask<nvmlPciInfo_t>("nvmlDeviceGetPciInfo_v3", second);
  CHECK(pci.bus == 2);
  CHECK(std::string(pci.busId) == "00000000:02:00.0");
  for (const char* bus : {"0000:02:00.0", "00000000:02:00.0"}) {
    nvmlDevice_t found = nullptr;
    CHECK(call("nvmlDeviceGetHandleByPciBusId_v2", bus, &found) == NVML_SUCCESS);
    CHECK(found == second);
  }
  nvmlDevice_t found = nullptr;
  CHECK(call("nvmlDeviceGetHandleByUUID", uuid.c_str(), &found) == NVML_SUCCESS);
  CHECK(found == second);
  CHECK(call("nvmlDeviceGetHandleByUUID", "GPU-00000000-0000-0000-0000-000000000000", &found) == NVML_ERROR_NOT_FOUND);
  CHECK(call("nvmlDeviceGetHandleByPciBusId_v2", "0000:99:00.0", &found) == NVML_ERROR_NOT_FOUND);
  CHECK(call("nvmlDeviceGetHandleByIndex_v2", configuration().cards, &found) == NVML_ERROR_INVALID_ARGUMENT);
  unsigned number = 0;
  CHECK(call("nvmlDeviceGetIndex", static_cast<nvmlDevice_t>(nullptr), &number) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(call("nvmlDeviceGetIndex", second, static_cast<unsigned*>(nullptr)) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("memory and processes are what they hold") {
  const Session session;
  const uint64_t total = configuration().memory;
  REQUIRE(machine().reserve(0, 4096));
  const auto memory = ask<nvmlMemory_t>("nvmlDeviceGetMemoryInfo", device(0));
  CHECK(memory.total == total);
  CHECK(memory.used == 4096);
  CHECK(memory.free == total - 4096);

  unsigned count = 0;
  CHECK(call("nvmlDeviceGetComputeRunningProcesses_v3", device(0), &count,
             static_cast<nvmlProcessInfo_v2_t*>(nullptr)) == NVML_ERROR_INSUFFICIENT_SIZE);
  REQUIRE(count == 1);
  nvmlProcessInfo_v2_t process{};
  CHECK(call("nvmlDeviceGetComputeRunningProcesses_v3", device(0), &count, &process) == NVML_SUCCESS);
  CHECK(process.pid == unsigned(getpid()));
  CHECK(process.usedGpuMemory == 4096);
  CHECK(process.gpuInstanceId == 0xFFFFFFFF);
  nvmlProcessInfo_v1_t first{};
  CHECK(call("nvmlDeviceGetComputeRunningProcesses", device(0), &count, &first) == NVML_SUCCESS);
  CHECK(first.usedGpuMemory == 4096);
  CHECK(call("nvmlDeviceGetComputeRunningProcesses_v3", device(1), &count, &process) == NVML_SUCCESS);
  CHECK(count == 0);
  machine().release(0, 4096);
  CHECK(ask<nvmlMemory_t>("nvmlDeviceGetMemoryInfo", device(0)).used == 0);
}

TEST_CASE("power, clocks, heat and the reasons for low clocks follow the work") {
  const Session session;
  const char* energy = "nvmlDeviceGetTotalEnergyConsumption";
  const auto before = ask<unsigned long long>(energy, device(0));
  CHECK(ask<unsigned>("nvmlDeviceGetPowerUsage", device(0)) == 60'000);
  CHECK(ask<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", device(0)) == 1);
  const auto clock = [](int type) {
    unsigned mhz = 0;
    CHECK(call("nvmlDeviceGetClockInfo", device(0), type, &mhz) == NVML_SUCCESS);
    return mhz;
  };
  const unsigned idle = clock(NVML_CLOCK_SM);
  unsigned power = 0, working = 0;
  // If this machine itself is suspended for a while, the card is found idle; so try again.
  for (int i = 0; i < 100 && (power <= 60'000 || working <= idle); ++i) {
    machine().worked(0, 100'000'000);
    power = ask<unsigned>("nvmlDeviceGetPowerUsage", device(0));
    working = clock(NVML_CLOCK_SM);
  }
  CHECK(power > 60'000);
  CHECK(power <= ask<unsigned>("nvmlDeviceGetEnforcedPowerLimit", device(0)));
  CHECK(working > idle);
  CHECK(clock(NVML_CLOCK_MEM) == kMemoryClock);
  CHECK(working <= kWorkClock);
  CHECK(call("nvmlDeviceGetClockInfo", device(0), 4, &power) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(ask<unsigned long long>(energy, device(0)) >= before + 44'000);  // 0.1 s of 440 W
  unsigned celsius = 0;
  CHECK(call("nvmlDeviceGetTemperature", device(0), 0, &celsius) == NVML_SUCCESS);
  CHECK(celsius >= 32);
  CHECK(celsius < 70);
  setenv("NULLGPU_THROTTLE", "1=0x40", 1);
  CHECK((ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device(1)) & 0x40) == 0x40);
  CHECK((ask<unsigned long long>("nvmlDeviceGetCurrentClocksThrottleReasons", device(0)) & 0x40) == 0);
  unsetenv("NULLGPU_THROTTLE");
}

TEST_CASE("a card is whole, corrects its memory and has no links") {
  const Session session;
  unsigned current = 7, pending = 7;
  CHECK(call("nvmlDeviceGetMigMode", device(0), &current, &pending) == NVML_SUCCESS);
  CHECK(current + pending == 0);
  CHECK(call("nvmlDeviceGetEccMode", device(0), &current, &pending) == NVML_SUCCESS);
  CHECK(current == 1);
  unsigned long long errors = 7;
  CHECK(call("nvmlDeviceGetTotalEccErrors", device(0), 1, 0, &errors) == NVML_SUCCESS);
  CHECK(errors == 0);
  CHECK(ask<unsigned>("nvmlDeviceGetPersistenceMode", device(0)) == 1);
  CHECK(call("nvmlDeviceGetNvLinkRemoteDeviceType", device(0), 0u, &current) == NVML_ERROR_NOT_SUPPORTED);
  nvmlGpuFabricInfoV_t fabric{};
  CHECK(call("nvmlDeviceGetGpuFabricInfoV", device(0), &fabric) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  fabric.version = nvmlGpuFabricInfo_v2;
  CHECK(call("nvmlDeviceGetGpuFabricInfoV", device(0), &fabric) == NVML_SUCCESS);
  CHECK(fabric.state == 0);
}

// Must be the last test: a card stays lost.
TEST_CASE("a lost card says so to every question") {
  const Session session;
  nvmlDevice_t const last = device(configuration().cards - 1);
  machine().lose(configuration().cards - 1);
  nvmlMemory_t memory{};
  CHECK(call("nvmlDeviceGetMemoryInfo", last, &memory) == NVML_ERROR_GPU_IS_LOST);
  unsigned number = 0;
  CHECK(call("nvmlDeviceGetPowerUsage", last, &number) == NVML_ERROR_GPU_IS_LOST);
  char text[96];
  CHECK(call("nvmlDeviceGetUUID", last, &text[0], 96u) == NVML_ERROR_GPU_IS_LOST);
  nvmlDevice_t found = nullptr;
  CHECK(call("nvmlDeviceGetHandleByIndex_v2", configuration().cards - 1, &found) == NVML_ERROR_GPU_IS_LOST);
  CHECK(call("nvmlDeviceGetCount_v2", &number) == NVML_SUCCESS);
  CHECK(number == configuration().cards);
}
