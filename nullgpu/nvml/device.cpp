// Which cards there are, and what never changes of them. NVML shows them all, whatever CUDA_VISIBLE_DEVICES says.

#include <strings.h>

#include <cstdio>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

namespace {

/// The card that `is` is true of.
template <typename Is>
nvmlReturn_t find(nvmlDevice_t* out, Is&& is) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  for (unsigned card = 0; card < configuration().cards; ++card) {
    if (!is(card)) continue;
    if (machine().state(card).lost) return NVML_ERROR_GPU_IS_LOST;
    *out = handleOf(card);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

nvmlPciInfo_t pciOf(unsigned card) {
  nvmlPciInfo_t pci{};
  std::sscanf(cardBus(card).c_str(), "%x:%x:%x", &pci.domain, &pci.bus, &pci.device);
  std::snprintf(pci.busIdLegacy, sizeof pci.busIdLegacy, "%s", cardBus(card).c_str());
  std::snprintf(pci.busId, sizeof pci.busId, "%08X:%02X:%02X.0", pci.domain, pci.bus, pci.device);
  return pci;
}

/// "0000:01:00.0", or with eight digits in front as NVML itself writes it, in either case.
bool isBus(const char* text, unsigned card) {
  const nvmlPciInfo_t pci = pciOf(card);
  return strcasecmp(text, pci.busIdLegacy) == 0 || strcasecmp(text, pci.busId) == 0;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  if (!count) return NVML_ERROR_INVALID_ARGUMENT;
  *count = configuration().cards;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  const nvmlReturn_t found = find(device, [=](unsigned card) { return card == index; });
  return found == NVML_ERROR_NOT_FOUND ? NVML_ERROR_INVALID_ARGUMENT : found;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  if (!uuid) return NVML_ERROR_INVALID_ARGUMENT;
  return find(device, [=](unsigned card) { return strcasecmp(uuid, cardUuid(card).c_str()) == 0; });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus, nvmlDevice_t* device) {
  if (!bus) return NVML_ERROR_INVALID_ARGUMENT;
  return find(device, [=](unsigned card) { return isBus(bus, card); });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return answerWith(device, [](unsigned card, const CardState&) { return card; }, index);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned size) {
  return query(device, [&](unsigned, const CardState&) { return copyText(cardName(), text, size); });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned size) {
  return query(device, [&](unsigned card, const CardState&) { return copyText(cardUuid(card), text, size); });
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return answerWith(device, [](unsigned card, const CardState&) { return pciOf(card); }, pci);
}

// The card is whole, and belongs to whoever asks for it.

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return answerWith(device, 0, current, pending);
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return answerWith(device, NVML_FEATURE_ENABLED, mode);
}

}  // extern "C"
