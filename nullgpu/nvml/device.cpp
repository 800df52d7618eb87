// Which cards there are, and what never changes of them. NVML shows them all, whatever CUDA_VISIBLE_DEVICES says.

#include <strings.h>

#include <cstdio>
#include <cstring>

#include "nullgpu/core/configuration.h"
#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

/// The card that `is` is true of.
template <typename Is>
Result find(Device** out, Is&& is) {
  if (!isInitialized()) return Uninitialized;
  if (!out) return InvalidArgument;
  for (unsigned card = 0; card < configuration().cards; ++card) {
    if (!is(card)) continue;
    if (cardState(card).lost) return GpuIsLost;
    *out = handleOf(card);
    return Success;
  }
  return NotFound;
}

Pci pciOf(unsigned card) {
  Pci pci{};
  std::sscanf(cardBus(card).c_str(), "%x:%x:%x", &pci.domain, &pci.bus, &pci.device);
  std::snprintf(pci.legacy_bus_id, sizeof pci.legacy_bus_id, "%s", cardBus(card).c_str());
  std::snprintf(pci.bus_id, sizeof pci.bus_id, "%08X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
  return pci;
}

/// "0000:01:00.0", or with eight digits in front as NVML itself writes it, in either case.
bool isBus(const char* text, unsigned card) {
  const Pci pci = pciOf(card);
  return strcasecmp(text, pci.legacy_bus_id) == 0 || strcasecmp(text, pci.bus_id) == 0;
}

}  // namespace

extern "C" {

Result nvmlDeviceGetCount_v2(unsigned* count) {
  if (!isInitialized()) return Uninitialized;
  if (!count) return InvalidArgument;
  *count = configuration().cards;
  return Success;
}
Result nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

Result nvmlDeviceGetHandleByIndex_v2(unsigned index, Device** device) {
  const Result found = find(device, [=](unsigned card) { return card == index; });
  return found == NotFound ? InvalidArgument : found;
}
Result nvmlDeviceGetHandleByIndex(unsigned index, Device** device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

Result nvmlDeviceGetHandleByUUID(const char* uuid, Device** device) {
  if (!uuid) return InvalidArgument;
  return find(device, [=](unsigned card) { return strcasecmp(uuid, cardUuid(card).c_str()) == 0; });
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* bus, Device** device) {
  if (!bus) return InvalidArgument;
  return find(device, [=](unsigned card) { return isBus(bus, card); });
}
Result nvmlDeviceGetHandleByPciBusId(const char* bus, Device** device) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus, device);
}

Result nvmlDeviceGetIndex(Device* device, unsigned* index) {
  return answerWith(device, index, [](unsigned card, const CardState&) { return card; });
}

Result nvmlDeviceGetName(Device* device, char* text, unsigned size) {
  return query(device, [&](unsigned, const CardState&) { return copyText(cardName(), text, size); });
}

Result nvmlDeviceGetUUID(Device* device, char* text, unsigned size) {
  return query(device, [&](unsigned card, const CardState&) { return copyText(cardUuid(card), text, size); });
}

Result nvmlDeviceGetPciInfo_v3(Device* device, Pci* pci) {
  return answerWith(device, pci, [](unsigned card, const CardState&) { return pciOf(card); });
}
Result nvmlDeviceGetPciInfo_v2(Device* device, Pci* pci) { return nvmlDeviceGetPciInfo_v3(device, pci); }

Result nvmlDeviceGetCudaComputeCapability(Device* device, int* major, int* minor) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *major = static_cast<int>(configuration().capability / 10);
        *minor = static_cast<int>(configuration().capability % 10);
        return Success;
      },
      major, minor);
}

// The card is whole, and belongs to whoever asks for it.

Result nvmlDeviceGetMigMode(Device* device, unsigned* current, unsigned* pending) {
  return query(
      device,
      [&](unsigned, const CardState&) {
        *current = *pending = 0;
        return Success;
      },
      current, pending);
}

Result nvmlDeviceIsMigDeviceHandle(Device* device, unsigned* mig) {
  return answerWith(device, mig, [](unsigned, const CardState&) { return 0; });
}

Result nvmlDeviceGetMaxMigDeviceCount(Device* device, unsigned* count) {
  return answerWith(device, count, [](unsigned, const CardState&) { return 0; });
}

Result nvmlDeviceGetPersistenceMode(Device* device, unsigned* mode) {
  return answerWith(device, mode, [](unsigned, const CardState&) { return 1; });
}

Result nvmlDeviceGetComputeMode(Device* device, unsigned* mode) {
  return answerWith(device, mode, [](unsigned, const CardState&) { return 0; });
}

Result nvmlDeviceGetSerial(Device* device, char*, unsigned) {
  return query(device, [](unsigned, const CardState&) { return NotSupported; });
}

}  // extern "C"
