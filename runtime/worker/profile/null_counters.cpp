#include "runtime/worker/profile/null_counters.h"

#include <dlfcn.h>

namespace expc::profile {

std::optional<nullgpu_counts> nullCounters() {
  static const auto read = reinterpret_cast<decltype(&nullgpu_counters)>(dlsym(RTLD_DEFAULT, "nullgpu_counters"));
  nullgpu_counts counts{};
  counts.size = sizeof counts;
  if (!read || read(&counts) != 0 || counts.size != sizeof counts) return std::nullopt;
  return counts;
}

}  // namespace expc::profile
