// NVML, as far as torch and programs that watch GPUs call it. NVML shows all cards of the machine,
// whatever CUDA_VISIBLE_DEVICES says, and the memory of all processes (core/machine.h). Most
// functions are one question about a card; query() makes the checks that all share.

#define NVML_NO_UNVERSIONED_FUNC_DEFS  // the names here are the library's own
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

/// CUDA 13.0, in the driver's form (1000 * major + 10 * minor).
constexpr int kCudaVersion = 13000;
/// Milliwatts; no more than idle and work draw together (machine.cpp).
constexpr unsigned kPowerLimit = 500'000;

/// Calls of nvmlInit that no nvmlShutdown has matched; NVML counts references.
std::atomic<int> users{0};
/// Handles are addresses in this table.
std::array<nvmlDevice_st, kMostCards> devices;

bool isInitialized() { return users > 0; }

/// The machine's number of the card of a handle; nothing if it is none of ours.
std::optional<unsigned> cardOf(nvmlDevice_t handle) {
  for (unsigned card = 0; card < configuration().cards; ++card)
    if (handle == &devices[card]) return card;
  return std::nullopt;
}

/// Copies a text into the caller's buffer by NVML's rules: it fails if the end does not fit.
nvmlReturn_t copyText(const std::string& text, char* out, unsigned size) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

/// Stores an answer about the whole machine where the caller wants it.
template <typename Value>
nvmlReturn_t give(Value* place, Value value) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  if (!place) return NVML_ERROR_INVALID_ARGUMENT;
  *place = value;
  return NVML_SUCCESS;
}

/// The frame of each question about a card. Calls `answer(card, state)` if NVML is initialised, the
/// handle is valid, no pointer of `outs` is null, and the card is not lost; otherwise returns
/// NVML's error for it.
template <typename Answer, typename... Outs>
nvmlReturn_t query(nvmlDevice_t handle, Answer&& answer, const Outs*... outs) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  const auto card = cardOf(handle);
  if (!card || (... || !outs)) return NVML_ERROR_INVALID_ARGUMENT;
  const CardState state = machine().state(*card);
  if (state.lost) return NVML_ERROR_GPU_IS_LOST;
  return answer(*card, state);
}

/// Answers a question whose answer is one value, into all `outs`: a constant, a member of the
/// card's state, or the result of `value(card, state)`.
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

/// Gives the handle of the card that `is` accepts. @returns NVML_ERROR_NOT_FOUND if there is none
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

/// Whether `text` is the card's bus address, "0000:01:00.0" or with eight digits in front as NVML
/// writes it itself; letter case does not matter.
bool isBus(const char* text, unsigned card) {
  const nvmlPciInfo_t pci = pciOf(card);
  return strcasecmp(text, pci.busIdLegacy) == 0 || strcasecmp(text, pci.busId) == 0;
}

nvmlMemory_t memoryOf(unsigned, const CardState& state) {
  const uint64_t total = configuration().memory;
  return {total, total - state.used, state.used};
}

/// Fills a caller's table of processes by NVML's rules: `*count` is its size and becomes the number
/// of processes.
/// @returns NVML_ERROR_INSUFFICIENT_SIZE if they do not fit
template <typename Process, typename Make>
nvmlReturn_t processes(nvmlDevice_t device, unsigned* count, Process* out, Make&& make) {
  const auto fill = [&](unsigned, const CardState& state) {
    const unsigned room = *count;
    *count = unsigned(state.processes.size());
    if (*count > room) return NVML_ERROR_INSUFFICIENT_SIZE;
    if (*count > 0 && !out) return NVML_ERROR_INVALID_ARGUMENT;
    for (const CardProcess& process : state.processes) *out++ = make(process);
    return NVML_SUCCESS;
  };
  return query(device, fill, count);
}

/// Defines a function that a card does not support, by its name and its parameters after the card.
#define NULLGPU_LACK(name, ...)                                                                \
  nvmlReturn_t name(nvmlDevice_t device, __VA_ARGS__) {                                        \
    return query(device, [](unsigned, const CardState&) { return NVML_ERROR_NOT_SUPPORTED; }); \
  }

/// Defines a function that answers one value: its name, the value's type, and the value as for
/// answerWith().
#define NULLGPU_TELL(name, type, value) \
  nvmlReturn_t name(nvmlDevice_t device, type* out) { return answerWith(device, value, out); }

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  configuration();  // a variable that cannot be read ends the process here, not later
  ++users;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlInit() { return nvmlInit_v2(); }
nvmlReturn_t nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

nvmlReturn_t nvmlShutdown() {
  int before = users;
  // Never count below 0: an extra nvmlShutdown is an error, not a debt.
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

// The version of a driver that supports CUDA 13. Callers parse numbers from it.
nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return isInitialized() ? copyText("580.95.05", text, size) : NVML_ERROR_UNINITIALIZED;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return give(version, kCudaVersion); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) { return give(version, kCudaVersion); }

// The cards, and properties that never change.

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) { return give(count, isInitialized() ? configuration().cards : 0); }

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  const nvmlReturn_t found = find(device, [=](unsigned card) { return card == index; });
  // NVML has another error for an index than for an unknown uuid or bus.
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

// Modes: the card is not divided (MIG), and its memory has error correction that never finds an
// error.

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
    return nvmlProcessInfo_v1_t{unsigned(process.pid), process.bytes};
  });
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* out) {
  constexpr unsigned kNoInstance = 0xFFFFFFFF;  // the card is not divided into instances
  return processes(device, count, out, [](const CardProcess& process) {
    return nvmlProcessInfo_t{unsigned(process.pid), process.bytes, kNoInstance, kNoInstance};
  });
}

// Power, clocks and temperature.

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

// Links: cards are joined by PCI Express alone. torch asks about NVLink when it looks for direct
// ways.

NULLGPU_LACK(nvmlDeviceGetNvLinkState, unsigned, nvmlEnableState_t*)
NULLGPU_LACK(nvmlDeviceGetNvLinkRemoteDeviceType, unsigned, nvmlIntNvLinkDeviceType_t*)
NULLGPU_LACK(nvmlDeviceGetNvLinkRemotePciInfo_v2, unsigned, nvmlPciInfo_t*)

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t* fabric) {
  if (!fabric) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned version = fabric->version;
  if (version != nvmlGpuFabricInfo_v2 && version != nvmlGpuFabricInfo_v3) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return query(device, [&](unsigned, const CardState&) {
    // State 0 means that there is no fabric. Version 2 of the struct is the beginning of version 3,
    // so only its size may be cleared.
    std::memset(fabric, 0, version == nvmlGpuFabricInfo_v2 ? sizeof(nvmlGpuFabricInfo_v2_t) : sizeof *fabric);
    fabric->version = version;
    return NVML_SUCCESS;
  });
}

}  // extern "C"
