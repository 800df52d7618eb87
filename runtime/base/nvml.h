#pragma once

// NVIDIA's management library, loaded by dlopen: it is there only with a driver, so we never link it. Callers
// declare the part of its binary interface that they use (stable since driver 450).

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string>

namespace expc::base {

/// A loaded and started library. It is shut down and unloaded with this object.
class Nvml {
 public:
  using Device = struct OpaqueDevice*;

  /// Loads and starts the library; see isThere() and works() for what came of it.
  explicit Nvml(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    works_ = handle_ && call("nvmlInit_v2");
  }
  ~Nvml() {
    if (works_) call("nvmlShutdown");
    if (handle_) dlclose(handle_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// libnvidia-ml.so.1, or the library that EXPC_NVML_LIBRARY names (for tests and odd installations).
  static std::string usual() {
    const char* name = std::getenv("EXPC_NVML_LIBRARY");
    return name && *name ? name : "libnvidia-ml.so.1";
  }

  /// Whether the library could be loaded.
  bool isThere() const { return handle_ != nullptr; }
  /// Whether the library started. It does not without a device, or if driver and library have different versions.
  bool works() const { return works_; }
  /// The path that the library was loaded from; "" if unknown.
  std::string path() const {
    link_map* map = nullptr;
    return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name ? map->l_name : "";
  }
  /// Calls a function by its name. Returns false if there is none or it fails. The arguments' types must be those
  /// of the function: nothing checks them.
  template <typename... Args>
  bool call(const char* name, Args... args) const {
    auto* function = reinterpret_cast<int (*)(Args...)>(dlsym(handle_, name));
    return function && function(args...) == 0;
  }
  /// The handle of a device; null if there is none.
  Device device(unsigned index) const {
    Device device = nullptr;
    return works_ && call("nvmlDeviceGetHandleByIndex_v2", index, &device) ? device : nullptr;
  }

 private:
  void* handle_;
  bool works_ = false;
};

}  // namespace expc::base
