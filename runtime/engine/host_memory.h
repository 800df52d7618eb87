#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace expc::engine {

/// How many processes the kernel has killed since it started, because memory ran out; nothing where it does not tell.
/// `path` is its table of events.
std::optional<uint64_t> outOfMemoryKills(const std::string& path = "/proc/vmstat");

}  // namespace expc::engine
