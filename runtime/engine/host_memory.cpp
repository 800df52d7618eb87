#include "runtime/engine/host_memory.h"

#include <fstream>

namespace expc::engine {

std::optional<uint64_t> outOfMemoryKills(const std::string& path) {
  std::ifstream events(path);
  std::string name;
  for (uint64_t count = 0; events >> name >> count;)
    if (name == "oom_kill") return count;
  return std::nullopt;
}

}  // namespace expc::engine
