#pragma once

// The part of NVML's binary interface that is offered here, stable since driver 450: no wheel brings its header.

namespace nullgpu::nvml {

enum Result : int {
  Success = 0,
  Uninitialized = 1,
  InvalidArgument = 2,
  NotSupported = 3,
  NotFound = 6,
  InsufficientSize = 7,
  GpuIsLost = 15,
  ArgumentVersionMismatch = 25,
};

struct Device;  // a handle points to it

struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct Pci {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
struct ProcessV1 {
  unsigned pid;
  unsigned long long bytes;
};
struct ProcessV2 {  // and version 3
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct Fabric {  // versions 2 and 3; version 3 has one more byte, in what is padding here
  unsigned version;
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
  unsigned health;
};

/// The version that begins a struct: its size below the number.
template <typename Struct>
constexpr unsigned structVersion(unsigned number) {
  return static_cast<unsigned>(sizeof(Struct)) | number << 24;
}

enum ClockType : int { GraphicsClock = 0, SmClock = 1, MemoryClock = 2, VideoClock = 3 };

inline constexpr unsigned kNoInstance = 0xFFFFFFFF;  // of a card that is not divided

}  // namespace nullgpu::nvml

extern "C" {

/// The functions that nvidia-smi links. All others are found by dlsym().
nullgpu::nvml::Result nvmlInit_v2();
nullgpu::nvml::Result nvmlShutdown();
nullgpu::nvml::Result nvmlSystemGetDriverVersion(char* text, unsigned size);
nullgpu::nvml::Result nvmlDeviceGetCount_v2(unsigned* count);
nullgpu::nvml::Result nvmlDeviceGetHandleByIndex_v2(unsigned index, nullgpu::nvml::Device** device);
nullgpu::nvml::Result nvmlDeviceGetName(nullgpu::nvml::Device* device, char* text, unsigned size);
nullgpu::nvml::Result nvmlDeviceGetUUID(nullgpu::nvml::Device* device, char* text, unsigned size);
nullgpu::nvml::Result nvmlDeviceGetMemoryInfo(nullgpu::nvml::Device* device, nullgpu::nvml::Memory* memory);
const char* nvmlErrorString(nullgpu::nvml::Result result);
}
