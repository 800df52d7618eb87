// What joins cards: PCI Express alone. torch asks for more when it looks for ways between them.

#include <cstring>

#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

nvmlReturn_t notSupported(nvmlDevice_t device) {
  return query(device, [](unsigned, const CardState&) { return NVML_ERROR_NOT_SUPPORTED; });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned, nvmlEnableState_t*) {
  return notSupported(device);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned, nvmlIntNvLinkDeviceType_t*) {
  return notSupported(device);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned, nvmlPciInfo_t*) {
  return notSupported(device);
}

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
