#include "nullgpu/cupti/availability.h"

#include "nullgpu/core/cards.h"
#include "nullgpu/core/configuration.h"

namespace nullgpu::cupti {

CUptiResult availability() {
  if (visibleCards().empty()) return CUPTI_ERROR_NOT_INITIALIZED;
  return configuration().faults.cupti ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}

}  // namespace nullgpu::cupti
