// A library that answers like NVML on a machine with two GPUs, so that the code which asks can be tested without one.
//   NULLGPU_CARDS        other than two, four at most
//   EXPC_FAKE_UUID       what uuids begin with ("GPU-fake-")
//   EXPC_FAKE_DIVIDED    the index of a GPU in MIG mode
//   EXPC_FAKE_PAIRS      "nvlink": cards 0 and 1, and 2 and 3, have four NVLinks, and the pairs are on two sockets;
//                        "switch": all have four to one switch
//   EXPC_FAKE_CARD      what every card is doing, asked anew each time: "REASONS MHZ MILLIJOULES ERRORS PID…"
//   EXPC_FAKE_CUDA       the CUDA version that the driver runs (13000)

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {
struct Device {
  unsigned index;
} devices[4] = {{0}, {1}, {2}, {3}};

const char* pairs() { return std::getenv("EXPC_FAKE_PAIRS"); }

unsigned numberOf(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text ? unsigned(std::atoi(text)) : otherwise;
}
/// The words of EXPC_FAKE_CARD from `first` on as numbers; how many there are.
unsigned cardNumbers(unsigned first, unsigned long long* out, unsigned room) {
  const char* text = std::getenv("EXPC_FAKE_CARD");
  unsigned word = 0, found = 0;
  for (char* end = nullptr; text && *text; text = end, ++word) {
    const unsigned long long value = std::strtoull(text, &end, 0);
    if (end == text) break;
    if (word >= first && found < room) out[found++] = value;
  }
  return found;
}
template <typename T>
int cardNumber(unsigned word, T* out) {
  unsigned long long value = 0;
  if (cardNumbers(word, &value, 1) == 0) return 3;  // not supported
  *out = static_cast<T>(value);
  return 0;
}
}  // namespace

extern "C" {
struct RunningProcess {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
int nvmlDeviceGetCurrentClocksThrottleReasons(Device*, unsigned long long* reasons) { return cardNumber(0, reasons); }
int nvmlDeviceGetClockInfo(Device*, unsigned, unsigned* mhz) { return cardNumber(1, mhz); }
int nvmlDeviceGetTotalEccErrors(Device*, unsigned, unsigned, unsigned long long* count) { return cardNumber(3, count); }
int nvmlDeviceGetComputeRunningProcesses_v3(Device*, unsigned* count, RunningProcess* out) {
  unsigned long long pids[8];
  const unsigned found = cardNumbers(4, pids, *count < 8 ? *count : 8);
  for (unsigned i = 0; i < found; ++i) out[i] = {unsigned(pids[i]), 0, 0, 0};
  *count = found;
  return 0;
}

struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) { return std::snprintf(text, size, "580.00") > 0 ? 0 : 1; }
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = int(numberOf("EXPC_FAKE_CUDA", 13000));
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = numberOf("NULLGPU_CARDS", 2);
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  if (index > 3) return 2;
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetName(Device*, char* text, unsigned size) { return std::snprintf(text, size, "Fake GPU") > 0 ? 0 : 1; }
int nvmlDeviceGetUUID(Device* device, char* text, unsigned size) {
  const char* begin = std::getenv("EXPC_FAKE_UUID");
  return std::snprintf(text, size, "%s%u", begin ? begin : "GPU-fake-", device->index) > 0 ? 0 : 1;
}
int nvmlDeviceGetMigMode(Device* device, unsigned* current, unsigned* pending) {
  *current = *pending = numberOf("EXPC_FAKE_DIVIDED", 9) == device->index;
  return 0;
}
int nvmlDeviceGetMemoryInfo(Device*, Memory* memory) {
  *memory = {1ull << 30, 0, 0};
  return 0;
}
int nvmlDeviceGetPciInfo_v3(Device* device, Pci* pci) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = 0x17 + device->index;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, Device** device) {
  for (Device& one : devices) {
    char own[32];
    std::snprintf(own, sizeof own, "0000:%02x:00.0", 0x17 + one.index);
    if (std::strcmp(own, bus) == 0) return *device = &one, 0;
  }
  return 6;
}
int nvmlDeviceGetTopologyCommonAncestor(Device* one, Device* other, int* level) {
  *level = one->index / 2 == other->index / 2 ? 20 : 50;
  return pairs() ? 0 : 3;
}
int nvmlDeviceGetNvLinkState(Device*, unsigned link, unsigned* active) {
  *active = link != 1;  // one is broken
  return pairs() && link < 5 ? 0 : 3;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Device*, unsigned, unsigned* type) {
  *type = std::strcmp(pairs(), "switch") == 0 ? 2 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Device* device, unsigned, Pci* pci) {
  std::memset(pci, 0, sizeof *pci);
  pci->bus = 0x17 + (device->index ^ 1);
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(Device* device, unsigned long long* millijoules) {
  if (cardNumber(2, millijoules) == 0) return 0;
  static unsigned long long spent = 1500;
  if (device->index == 1) return 3;  // not supported
  *millijoules = spent;
  spent += 250;
  return 0;
}
}
