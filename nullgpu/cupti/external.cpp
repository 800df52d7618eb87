#include "nullgpu/cupti/external.h"

#include <array>
#include <vector>

namespace nullgpu::cupti {
namespace {

thread_local std::array<std::vector<uint64_t>, CUPTI_EXTERNAL_CORRELATION_KIND_SIZE> stacks;

bool isKind(CUpti_ExternalCorrelationKind kind) {
  return kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && kind < CUPTI_EXTERNAL_CORRELATION_KIND_SIZE;
}

}  // namespace

void eachExternal(const std::function<void(CUpti_ExternalCorrelationKind, uint64_t)>& take) {
  for (size_t kind = 0; kind < stacks.size(); ++kind) {
    if (!stacks[kind].empty()) take(static_cast<CUpti_ExternalCorrelationKind>(kind), stacks[kind].back());
  }
}

}  // namespace nullgpu::cupti

extern "C" {

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (!nullgpu::cupti::isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  nullgpu::cupti::stacks[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* id) {
  if (!nullgpu::cupti::isKind(kind)) return CUPTI_ERROR_INVALID_PARAMETER;
  auto& stack = nullgpu::cupti::stacks[kind];
  if (stack.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  if (id) *id = stack.back();
  stack.pop_back();
  return CUPTI_SUCCESS;
}

}  // extern "C"
