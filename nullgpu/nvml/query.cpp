#include "nullgpu/nvml/query.h"

#include <array>
#include <cstring>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine_file.h"

namespace nullgpu::nvml {

struct Device {};

namespace {

std::array<Device, kMostCards> devices;

}  // namespace

Device* handleOf(unsigned card) { return &devices.at(card); }

std::optional<unsigned> cardOf(const Device* handle) {
  for (unsigned card = 0; card < configuration().cards; ++card) {
    if (handle == &devices[card]) return card;
  }
  return std::nullopt;
}

Result copyText(const std::string& text, char* out, unsigned size) {
  if (!out) return InvalidArgument;
  if (text.size() >= size) return InsufficientSize;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return Success;
}

}  // namespace nullgpu::nvml
