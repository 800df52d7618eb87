// What joins cards: PCI Express alone. torch asks for more when it looks for ways between them.

#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

Result notSupported(Device* device) {
  return query(device, [](unsigned, const CardState&) { return NotSupported; });
}

}  // namespace

extern "C" {

Result nvmlDeviceGetNvLinkState(Device* device, unsigned, unsigned*) { return notSupported(device); }
Result nvmlDeviceGetNvLinkRemoteDeviceType(Device* device, unsigned, unsigned*) { return notSupported(device); }
Result nvmlDeviceGetNvLinkRemotePciInfo_v2(Device* device, unsigned, Pci*) { return notSupported(device); }

Result nvmlDeviceGetGpuFabricInfoV(Device* device, Fabric* fabric) {
  if (!fabric) return InvalidArgument;
  const unsigned version = fabric->version;
  if (version != structVersion<Fabric>(2) && version != structVersion<Fabric>(3)) return ArgumentVersionMismatch;
  return query(device, [&](unsigned, const CardState&) {
    *fabric = {};
    fabric->version = version;  // and state 0: there is no fabric
    return Success;
  });
}

}  // extern "C"
