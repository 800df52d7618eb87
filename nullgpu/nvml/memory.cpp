// Memory, its errors, and the processes that hold it.

#include "nullgpu/core/configuration.h"
#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

/// As NVML fills a caller's table: `*count` says how many fit and then how many there are.
template <typename Process, typename Make>
nvmlReturn_t processes(nvmlDevice_t device, unsigned* count, Process* out, Make&& make) {
  return query(
      device,
      [&](unsigned, const CardState& state) {
        const unsigned room = *count;
        *count = static_cast<unsigned>(state.processes.size());
        if (*count > room) return NVML_ERROR_INSUFFICIENT_SIZE;
        if (*count > 0 && !out) return NVML_ERROR_INVALID_ARGUMENT;
        for (const CardProcess& process : state.processes) *out++ = make(process);
        return NVML_SUCCESS;
      },
      count);
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  const auto now = [](unsigned, const CardState& state) {
    const uint64_t total = configuration().memory;
    return nvmlMemory_t{total, total - state.used, state.used};
  };
  return answerWith(device, now, memory);
}

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

// The memory corrects its errors, and there are none.

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return answerWith(device, NVML_FEATURE_ENABLED, current, pending);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                         unsigned long long* count) {
  return answerWith(device, 0, count);
}

}  // extern "C"
