// The library itself, and what it says of the whole machine.

#include <atomic>

#include "nullgpu/core/configuration.h"
#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

std::atomic<int> users{0};

constexpr int kCudaVersion = 13000;

Result systemText(const char* text, char* out, unsigned size) {
  return isInitialized() ? copyText(text, out, size) : Uninitialized;
}

}  // namespace

bool nullgpu::nvml::isInitialized() { return users > 0; }

extern "C" {

Result nvmlInit_v2() {
  configuration();  // what it cannot read ends the process here and not in the midst of things
  ++users;
  return Success;
}
Result nvmlInit() { return nvmlInit_v2(); }
Result nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

Result nvmlShutdown() {
  int before = users;
  do {
    if (before == 0) return Uninitialized;
  } while (!users.compare_exchange_weak(before, before - 1));
  return Success;
}

const char* nvmlErrorString(Result result) {
  switch (result) {
    case Success:
      return "Success";
    case Uninitialized:
      return "Uninitialized";
    case InvalidArgument:
      return "Invalid Argument";
    case NotSupported:
      return "Not Supported";
    case NotFound:
      return "Not Found";
    case InsufficientSize:
      return "Insufficient Size";
    case GpuIsLost:
      return "GPU is lost";
    case ArgumentVersionMismatch:
      return "Argument Version Mismatch";
  }
  return "Unknown Error";
}

// A driver that serves CUDA 13; callers read numbers from it.
Result nvmlSystemGetDriverVersion(char* text, unsigned size) { return systemText("580.95.05", text, size); }
Result nvmlSystemGetNVMLVersion(char* text, unsigned size) { return systemText("13.580.95.05", text, size); }

Result nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (!isInitialized()) return Uninitialized;
  if (!version) return InvalidArgument;
  *version = kCudaVersion;
  return Success;
}
Result nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

}  // extern "C"
