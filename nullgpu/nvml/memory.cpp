// Memory, its errors, and the processes that hold it.

#include "nullgpu/core/configuration.h"
#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

/// As NVML fills a caller's table: `*count` says how many fit and then how many there are.
template <typename Process, typename Make>
Result processes(Device* device, unsigned* count, Process* out, Make&& make) {
  return query(
      device,
      [&](unsigned, const CardState& state) {
        const unsigned room = *count;
        *count = static_cast<unsigned>(state.processes.size());
        if (*count > room) return InsufficientSize;
        if (*count > 0 && !out) return InvalidArgument;
        for (const CardProcess& process : state.processes) *out++ = make(process);
        return Success;
      },
      count);
}

ProcessV2 processOf(const CardProcess& process) {
  return {static_cast<unsigned>(process.pid), process.bytes, kNoInstance, kNoInstance};
}

}  // namespace

extern "C" {

Result nvmlDeviceGetMemoryInfo(Device* device, Memory* memory) {
  return answerWith(device, memory, [](unsigned, const CardState& state) {
    const uint64_t total = configuration().memory;
    return Memory{total, total - state.used, state.used};
  });
}

Result nvmlDeviceGetMemoryInfo_v2(Device* device, MemoryV2* memory) {
  if (memory && memory->version != structVersion<MemoryV2>(2)) return ArgumentVersionMismatch;
  return answerWith(device, memory, [](unsigned, const CardState& state) {
    const uint64_t total = configuration().memory;
    return MemoryV2{structVersion<MemoryV2>(2), total, 0, total - state.used, state.used};
  });
}

Result nvmlDeviceGetComputeRunningProcesses(Device* device, unsigned* count, ProcessV1* out) {
  return processes(device, count, out, [](const CardProcess& process) {
    return ProcessV1{static_cast<unsigned>(process.pid), process.bytes};
  });
}
Result nvmlDeviceGetComputeRunningProcesses_v2(Device* device, unsigned* count, ProcessV2* out) {
  return processes(device, count, out, processOf);
}
Result nvmlDeviceGetComputeRunningProcesses_v3(Device* device, unsigned* count, ProcessV2* out) {
  return processes(device, count, out, processOf);
}

Result nvmlDeviceGetGraphicsRunningProcesses_v3(Device* device, unsigned* count, ProcessV2*) {
  return answerWith(device, count, [](unsigned, const CardState&) { return 0; });
}

// The memory corrects its errors, and there are none.

Result nvmlDeviceGetEccMode(Device* device, unsigned* current, unsigned* pending) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *current = *pending = 1;
        return Success;
      },
      current, pending);
}

Result nvmlDeviceGetTotalEccErrors(Device* device, int, int, unsigned long long* count) {
  return answerWith(device, count, [](unsigned, const CardState&) { return 0; });
}

Result nvmlDeviceGetMemoryErrorCounter(Device* device, int, int, int, unsigned long long* count) {
  return answerWith(device, count, [](unsigned, const CardState&) { return 0; });
}

Result nvmlDeviceGetRemappedRows(Device* device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                                 unsigned* failed) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *corrected = *uncorrected = *pending = *failed = 0;
        return Success;
      },
      corrected, uncorrected, pending, failed);
}

}  // extern "C"
