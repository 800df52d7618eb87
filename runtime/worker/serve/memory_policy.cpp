#include "runtime/worker/serve/memory_policy.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace expc::serve {
namespace {

// The kernel's own calls: libnuma adds only a library.
constexpr unsigned long kNodes = 1024, kBits = 8 * sizeof(unsigned long);
using NodeMask = std::array<unsigned long, kNodes / kBits>;

}  // namespace

std::string bindCores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  return cores.empty() || sched_setaffinity(0, sizeof set, &set) == 0 ? "" : std::strerror(errno);
}

std::string bindMemory(const std::vector<int>& nodes) {
  NodeMask mask{};
  bool any = false;
  for (const int node : nodes) {
    if (node < 0 || static_cast<unsigned long>(node) >= kNodes) continue;
    mask[static_cast<unsigned long>(node) / kBits] |= 1ul << (static_cast<unsigned long>(node) % kBits);
    any = true;
  }
  if (!any || syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), kNodes) == 0) return {};
  return std::strerror(errno);
}

void describePlace(llvm::json::Object& environment) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    llvm::json::Array cores;
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
    environment["cores"] = std::move(cores);
  }
  NodeMask mask{};
  int policy = MPOL_DEFAULT;
  if (syscall(SYS_get_mempolicy, &policy, mask.data(), kNodes, nullptr, 0) != 0 || policy != MPOL_BIND) return;
  llvm::json::Array nodes;
  for (unsigned long node = 0; node < kNodes; ++node) {
    if (mask[node / kBits] >> (node % kBits) & 1) nodes.push_back(static_cast<int64_t>(node));
  }
  environment["memory_nodes"] = std::move(nodes);
}

}  // namespace expc::serve
