#include "nullgpu/core/host_ranges.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace nullgpu {
namespace {

std::shared_mutex ranges_mutex;
/// Keys are the addresses of the ranges' ends, so upper_bound() finds the range that contains an
/// address.
std::map<const char*, HostRange> ranges;

/// The first range that ends after `address`, which is the only one that can contain it.
auto after(const char* address) { return ranges.upper_bound(address); }

}  // namespace

bool addHostRange(const HostRange& range) {
  const std::unique_lock lock(ranges_mutex);
  const auto next = after(range.begin);
  if (next != ranges.end() && next->second.begin < range.begin + range.bytes) return false;
  ranges[range.begin + range.bytes] = range;
  return true;
}

std::optional<HostRange> removeHostRange(void* address, bool registered,
                                         const std::function<void(const HostRange&)>& before) {
  const std::unique_lock lock(ranges_mutex);
  const auto found = after(static_cast<const char*>(address));
  if (found == ranges.end() || found->second.begin != address || found->second.registered != registered)
    return std::nullopt;
  const HostRange range = found->second;
  before(range);
  ranges.erase(found);
  return range;
}

std::optional<HostRange> hostRange(const void* address, size_t bytes) {
  const std::shared_lock lock(ranges_mutex);
  const auto* from = static_cast<const char*>(address);
  const auto found = after(from);
  const bool holds = found != ranges.end() && from >= found->second.begin && from + bytes <= found->first;
  return holds ? std::optional(found->second) : std::nullopt;
}

}  // namespace nullgpu
