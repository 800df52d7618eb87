#pragma once

#include <cupti.h>

namespace nullgpu::cupti {

/// CUPTI_ERROR_NOT_INITIALIZED without a card, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED where another tool is
/// there first, which the fault `cupti` asks for.
CUptiResult availability();

}  // namespace nullgpu::cupti
