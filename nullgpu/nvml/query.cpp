#include "nullgpu/nvml/query.h"

#include <array>
#include <cstring>

#include "nullgpu/core/configuration.h"

struct nvmlDevice_st {};

namespace nullgpu::nvml {
namespace {

std::array<nvmlDevice_st, kMostCards> devices;

}  // namespace

nvmlDevice_t handleOf(unsigned card) { return &devices.at(card); }

std::optional<unsigned> cardOf(nvmlDevice_t handle) {
  for (unsigned card = 0; card < configuration().cards; ++card) {
    if (handle == &devices[card]) return card;
  }
  return std::nullopt;
}

nvmlReturn_t copyText(const std::string& text, char* out, unsigned size) {
  if (!out) return NVML_ERROR_INVALID_ARGUMENT;
  if (text.size() >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return NVML_SUCCESS;
}

}  // namespace nullgpu::nvml
