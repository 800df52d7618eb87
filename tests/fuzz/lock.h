#pragma once

#include <string>

namespace expc::fuzz {

/// Bytes as a lock: compared with itself it has no changes, and its digests of data are looked for. Whatever else it
/// holds is compared with a lock of nothing.
void readLock(const std::string& bytes);

}  // namespace expc::fuzz
