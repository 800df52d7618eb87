#pragma once

#include <cupti.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace nullgpu::cupti {

/// "cudaLaunchKernel_v7000" for CUPTI's number of it, "cuLaunchKernel" in the driver's domain; null where there is
/// none.
const char* callbackName(CUpti_CallbackDomain domain, uint32_t number);

/// A function and CUPTI's number of it.
struct Callback {
  CUpti_CallbackDomain domain;
  uint32_t number;
};
/// Of a runtime's or driver's function as it is called, "cudaMemcpyAsync"; nothing for a function that CUPTI does not
/// number.
std::optional<Callback> callbackOf(std::string_view function);

/// "CUPTI_ERROR_INVALID_KIND"; null for what is no result.
const char* resultName(CUptiResult result);

}  // namespace nullgpu::cupti
