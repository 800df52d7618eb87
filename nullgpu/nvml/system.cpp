// The library itself, and what it says of the whole machine.

#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "nullgpu/core/configuration.h"
#include "nullgpu/nvml/query.h"

using namespace nullgpu;
using namespace nullgpu::nvml;

struct nvmlDevice_st {};

namespace {

std::atomic<int> users{0};
std::array<nvmlDevice_st, kMostCards> devices;

constexpr int kCudaVersion = 13000;

}  // namespace

namespace nullgpu::nvml {

bool isInitialized() { return users > 0; }

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

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  configuration();  // what it cannot read ends the process here and not in the midst of things
  ++users;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlInit() { return nvmlInit_v2(); }
nvmlReturn_t nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

nvmlReturn_t nvmlShutdown() {
  int before = users;
  do {
    if (before == 0) return NVML_ERROR_UNINITIALIZED;
  } while (!users.compare_exchange_weak(before, before - 1));
  return NVML_SUCCESS;
}

const char* nvmlErrorString(nvmlReturn_t result) {
  static constexpr std::pair<nvmlReturn_t, const char*> kTexts[] = {
      {NVML_SUCCESS, "Success"},
      {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
      {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
      {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
      {NVML_ERROR_NOT_FOUND, "Not Found"},
      {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
      {NVML_ERROR_GPU_IS_LOST, "GPU is lost"},
      {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument Version Mismatch"},
  };
  for (const auto& [known, text] : kTexts)
    if (known == result) return text;
  return "Unknown Error";
}

// A driver that serves CUDA 13; callers read numbers from it.
nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return isInitialized() ? copyText("580.95.05", text, size) : NVML_ERROR_UNINITIALIZED;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  if (!version) return NVML_ERROR_INVALID_ARGUMENT;
  *version = kCudaVersion;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

}  // extern "C"
