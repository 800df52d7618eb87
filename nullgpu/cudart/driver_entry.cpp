// The driver's functions, by their names.

#include <dlfcn.h>

#include <string>

#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// A function that has changed keeps its old name for the old meaning; a program that is built today means the
/// youngest.
void* driverFunction(const std::string& name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!driver) return nullptr;
  for (const char* version : {"_v4", "_v3", "_v2", ""})
    if (void* function = dlsym(driver, (name + version).c_str())) return function;
  return nullptr;
}

}  // namespace
}  // namespace nullgpu

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                                        unsigned long long, cudaDriverEntryPointQueryResult* result) {
  return nullgpu::ask("cudaGetDriverEntryPointByVersion", [&] {
    if (!symbol || !function) return cudaErrorInvalidValue;
    *function = nullgpu::driverFunction(symbol);
    if (result) *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
  });
}
