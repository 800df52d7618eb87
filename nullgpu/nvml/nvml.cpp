// NVML's functions, as far as torch calls them and programs that watch cards. NVML shows all cards of the machine,
// whatever CUDA_VISIBLE_DEVICES says.

#define NVML_NO_UNVERSIONED_FUNC_DEFS  // the names here are those of the library
#include <nvml.h>
#include <strings.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine.h"

using namespace nullgpu;

struct nvmlDevice_st {};

namespace {

constexpr int kCudaVersion = 13000;
constexpr unsigned kPowerLimit = 500'000;  // mW

std::atomic<int> users{0};  // calls of nvmlInit that no nvmlShutdown has answered
std::array<nvmlDevice_st, kMostCards> devices;

bool isInitialized() { return users > 0; }

/// The card of a handle; nothing where `handle` is none.
std::optional<unsigned> cardOf(nvmlDevice_t handle) {
  for (unsigned card = 0; card < configuration().cards; ++card)
    if (handle == &devices[card]) return card;
  return std::nullopt;
}

/// As NVML copies texts into a caller's buffer.
nvmlReturn_t copyText(const std::string& text, char* out, unsigned size) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

/// An answer about the whole machine into the place that the caller names.
template <typename Value>
nvmlReturn_t give(Value* place, Value value) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  if (!place) return NVML_ERROR_INVALID_ARGUMENT;
  *place = value;
  return NVML_SUCCESS;
}

/// Around each function that asks about a card: `answer(card, state)` where NVML is initialised, the handle one of
/// ours, no pointer of `outs` null and the card not lost.
template <typename Answer, typename... Outs>
nvmlReturn_t query(nvmlDevice_t handle, Answer&& answer, const Outs*... outs) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  const auto card = cardOf(handle);
  if (!card || (... || (outs == nullptr))) return NVML_ERROR_INVALID_ARGUMENT;
  const CardState state = machine().state(*card);
  if (state.lost) return NVML_ERROR_GPU_IS_LOST;
  return answer(*card, state);
}

/// For questions whose answer is a value: one that does not change, a member of the card's state, or
/// `value(card, state)`. All of `outs` get it.
template <typename Value, typename... Outs>
nvmlReturn_t answerWith(nvmlDevice_t handle, Value value, Outs*... outs) {
  const auto answer = [&](unsigned card, const CardState& state) {
    if constexpr (std::is_member_object_pointer_v<Value>)
      (..., (*outs = static_cast<Outs>(state.*value)));
    else if constexpr (std::is_invocable_v<Value, unsigned, const CardState&>)
      (..., (*outs = static_cast<Outs>(value(card, state))));
    else
      (..., (*outs = static_cast<Outs>(value)));
    return NVML_SUCCESS;
  };
  return query(handle, answer, outs...);
}

/// The card that `is` is true of.
template <typename Is>
nvmlReturn_t find(nvmlDevice_t* out, Is&& is) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  for (unsigned card = 0; card < configuration().cards; ++card) {
    if (!is(card)) continue;
    if (machine().state(card).lost) return NVML_ERROR_GPU_IS_LOST;
    *out = &devices[card];
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlPciInfo_t pciOf(unsigned card) {
  nvmlPciInfo_t pci{};
  pci.bus = busNumber(card);
  std::snprintf(pci.busIdLegacy, sizeof pci.busIdLegacy, "%s", cardBus(card).c_str());
  std::snprintf(pci.busId, sizeof pci.busId, "%08X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
  return pci;
}

/// "0000:01:00.0", or with eight digits in front as NVML itself writes it, in either case.
bool isBus(const char* text, unsigned card) {
  const nvmlPciInfo_t pci = pciOf(card);
  return strcasecmp(text, pci.busIdLegacy) == 0 || strcasecmp(text, pci.busId) == 0;
}

nvmlMemory_t memoryOf(unsigned, const CardState& state) {
  const uint64_t total = configuration().memory;
  return {total, total - state.used, state.used};
}

/// As NVML fills a caller's table: `*count` says how many fit and then how many there are.
template <typename Process, typename Make>
nvmlReturn_t processes(nvmlDevice_t device, unsigned* count, Process* out, Make&& make) {
  const auto fill = [&](unsigned, const CardState& state) {
    const unsigned room = *count;
    *count = static_cast<unsigned>(state.processes.size());
    if (*count > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (*count > 0 && !out) return NVML_ERROR_INVALID_ARGUMENT;
    for (const CardProcess& process : state.processes) *out++ = make(process);
    return NVML_SUCCESS;
  };
  return query(device, fill, count);
}

/// A function of NVML that a card does not support: its name, and its parameters behind the card.
#define NULLGPU_LACK(name, ...)                                                                \
  nvmlReturn_t name(nvmlDevice_t device, __VA_ARGS__) {                                        \
    return query(device, [](unsigned, const CardState&) { return NVML_ERROR_NOT_SUPPORTED; }); \
  }

/// A function of NVML that tells one value of a card: its name, the value's type, and the value as answerWith takes it.
#define NULLGPU_TELL(name, type, value) \
  nvmlReturn_t name(nvmlDevice_t device, type* out) { return answerWith(device, value, out); }

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  configuration();  // what it cannot read ends the process here and not in the midst of things
  ++users;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlInit() { return nvmlInit_v2(); }
nvmlReturn_t nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

nvmlReturn_t nvmlShutdown() {
  int before = users;
  do {
    if (before == 0) return NVML_ERROR_UNINITIALIZED;
  } while (!users.compare_exchange_weak(before, before - 1));
  return NVML_SUCCESS;
}

const char* nvmlErrorString(nvmlReturn_t result) {
  static constexpr std::pair<nvmlReturn_t, const char*> kTexts[] = {
      {NVML_SUCCESS, "Success"},
      {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
      {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
      {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
      {NVML_ERROR_NOT_FOUND, "Not Found"},
      {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
      {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
      {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument Version Mismatch"},
  };
  for (const auto& [known, text] : kTexts)
    if (known == result) return text;
  return "Unknown Error";
}

// A driver that serves CUDA 13; callers read numbers from it.
nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return isInitialized() ? copyText("580.95.05", text, size) : NVML_ERROR_UNINITIALIZED;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return give(version, kCudaVersion); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) { return give(version, kCudaVersion); }

// Which cards there are, and what never changes of them.

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) { return give(count, isInitialized() ? configuration().cards : 0); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  const nvmlReturn_t found = find(device, [=](unsigned card) { return card == index; });
  return found == NVML_ERROR_NOT_FOUND ? NVML_ERROR_INVALID_ARGUMENT : found;
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (!uuid) return NVML_ERROR_INVALID_ARGUMENT;
  return find(device, [=](unsigned card) { return strcasecmp(uuid, cardUuid(card).c_str()) == 0; });
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus, nvmlDevice_t* device) {
  if (!bus) return NVML_ERROR_INVALID_ARGUMENT;
  return find(device, [=](unsigned card) { return isBus(bus, card); });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned size) {
  return query(device, [&](unsigned, const CardState&) { return copyText(cardName(), text, size); });
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned size) {
  return query(device, [&](unsigned card, const CardState&) { return copyText(cardUuid(card), text, size); });
}
NULLGPU_TELL(nvmlDeviceGetIndex, unsigned, [](unsigned card, const CardState&) { return card; })
NULLGPU_TELL(nvmlDeviceGetPciInfo_v3, nvmlPciInfo_t, [](unsigned card, const CardState&) { return pciOf(card); })

// The card is whole, and belongs to whoever asks for it. Its memory corrects its errors, and there are none.

NULLGPU_TELL(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, NVML_FEATURE_ENABLED)
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return answerWith(device, 0, current, pending);
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return answerWith(device, NVML_FEATURE_ENABLED, current, pending);
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                         unsigned long long* count) {
  return answerWith(device, 0, count);
}

// Memory, and the processes that hold it.

NULLGPU_TELL(nvmlDeviceGetMemoryInfo, nvmlMemory_t, memoryOf)

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* out) {
  return processes(device, count, out, [](const CardProcess& process) {
    return nvmlProcessInfo_v1_t{static_cast<unsigned>(process.pid), process.bytes};
  });
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* out) {
  constexpr unsigned kNoInstance = 0xFFFFFFFF;  // of a card that is not divided
  return processes(device, count, out, [](const CardProcess& process) {
    return nvmlProcessInfo_t{static_cast<unsigned>(process.pid), process.bytes, kNoInstance, kNoInstance};
  });
}

// Power, clocks, heat.

NULLGPU_TELL(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, &CardState::millijoules)
NULLGPU_TELL(nvmlDeviceGetPowerUsage, unsigned, &CardState::milliwatts)
NULLGPU_TELL(nvmlDeviceGetEnforcedPowerLimit, unsigned, kPowerLimit)
NULLGPU_TELL(nvmlDeviceGetPowerManagementDefaultLimit, unsigned, kPowerLimit)
NULLGPU_TELL(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, &CardState::throttle)
NULLGPU_TELL(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, &CardState::throttle)

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  if (type < NVML_CLOCK_GRAPHICS || type > NVML_CLOCK_VIDEO) return NVML_ERROR_INVALID_ARGUMENT;
  return answerWith(device, type == NVML_CLOCK_MEM ? &CardState::memory_clock_mhz : &CardState::clock_mhz, mhz);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned* celsius) {
  if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return answerWith(device, &CardState::celsius, celsius);
}

// What joins cards: PCI Express alone. torch asks for more when it looks for ways between them.

NULLGPU_LACK(nvmlDeviceGetNvLinkState, unsigned, nvmlEnableState_t*)
NULLGPU_LACK(nvmlDeviceGetNvLinkRemoteDeviceType, unsigned, nvmlIntNvLinkDeviceType_t*)
NULLGPU_LACK(nvmlDeviceGetNvLinkRemotePciInfo_v2, unsigned, nvmlPciInfo_t*)

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* fabric) {
  if (!fabric) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned version = fabric->version;
  if (version != nvmlGpuFabricInfo_v2 && version != nvmlGpuFabricInfo_v3) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return query(device, [&](unsigned, const CardState&) {
    // The state 0: there is no fabric. Version 2 is the beginning of version 3.
    std::memset(fabric, 0, version == nvmlGpuFabricInfo_v2 ? sizeof(nvmlGpuFabricInfo_v2_t) : sizeof *fabric);
    fabric->version = version;
    return NVML_SUCCESS;
  });
}

}  // extern "C"
