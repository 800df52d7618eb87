#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as what the kernel says of control groups: up to the first form feed the groups of this process, up to the
/// second the mounts, and the rest as every limit of the group at /g.
void readGroups(const std::string& bytes);

}  // namespace expc::fuzz
