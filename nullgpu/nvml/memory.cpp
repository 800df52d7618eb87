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

constexpr unsigned kNoInstance = 0xFFFFFFFF;  // of a card that is not divided

template <typename Process>
Process processOf(const CardProcess& process) {
  return {static_cast<unsigned>(process.pid), process.bytes, kNoInstance, kNoInstance};
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return answerWith(device, memory, [](unsigned, const CardState& state) {
    const uint64_t total = configuration().memory;
    return nvmlMemory_t{total, total - state.used, state.used};
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (memory && memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return answerWith(device, memory, [](unsigned, const CardState& state) {
    const uint64_t total = configuration().memory;
    return nvmlMemory_v2_t{nvmlMemory_v2, total, 0, total - state.used, state.used};
  });
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v1_t* out) {
  return processes(device, count, out, [](const CardProcess& process) {
    return nvmlProcessInfo_v1_t{static_cast<unsigned>(process.pid), process.bytes};
  });
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_v2_t* out) {
  return processes(device, count, out, processOf<nvmlProcessInfo_v2_t>);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t* out) {
  return processes(device, count, out, processOf<nvmlProcessInfo_t>);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count, nvmlProcessInfo_t*) {
  return answerWith(device, count, [](unsigned, const CardState&) { return 0; });
}

// The memory corrects its errors, and there are none.

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *current = *pending = NVML_FEATURE_ENABLED;
        return NVML_SUCCESS;
      },
      current, pending);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                         unsigned long long* count) {
  return answerWith(device, count, [](unsigned, const CardState&) { return 0; });
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t, nvmlEccCounterType_t,
                                             nvmlMemoryLocation_t, unsigned long long* count) {
  return answerWith(device, count, [](unsigned, const CardState&) { return 0; });
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned* corrected, unsigned* uncorrected,
                                       unsigned* pending, unsigned* failed) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *corrected = *uncorrected = *pending = *failed = 0;
        return NVML_SUCCESS;
      },
      corrected, uncorrected, pending, failed);
}

}  // extern "C"
