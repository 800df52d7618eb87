// A library that answers like NVML on a machine with two GPUs, so that the code which asks can be tested without one.

#include <cstdio>
#include <cstring>

namespace {
struct Device {
  unsigned index;
} devices[2] = {{0}, {1}};
}  // namespace

extern "C" {
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
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  if (index > 1) return 2;
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetName(Device*, char* text, unsigned size) { return std::snprintf(text, size, "Fake GPU") > 0 ? 0 : 1; }
int nvmlDeviceGetUUID(Device* device, char* text, unsigned size) {
  return std::snprintf(text, size, "GPU-fake-%u", device->index) > 0 ? 0 : 1;
}
int nvmlDeviceGetMemoryInfo(Device* device, Memory* memory) {
  *memory = {(device->index + 1) * (1ull << 30), 0, 0};
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
int nvmlDeviceGetTotalEnergyConsumption(Device* device, unsigned long long* millijoules) {
  static unsigned long long spent = 1500;
  if (device->index == 1) return 3;  // not supported
  *millijoules = spent;
  spent += 250;
  return 0;
}
}
