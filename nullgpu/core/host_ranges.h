#pragma once

// The table of the process's page-locked ranges: what allocation enters, and what copies and their guards look up.

#include <cstddef>
#include <functional>
#include <optional>

namespace nullgpu {

struct HostRange {
  char* begin = nullptr;
  size_t bytes = 0;
  bool registered = false;  // memory of the caller's
  bool writable = true;     // as a whole, by what this process may do
};

/// The page-locked range around `bytes` from `address`; nothing where they are not all in one.
std::optional<HostRange> hostRange(const void* address, size_t bytes = 1);

/// Enters a range. False where a part of it is page-locked already.
bool addHostRange(const HostRange& range);
/// Takes out the range that begins at `address` and is `registered` or allocated; nothing where there is none. `before`
/// is called for it with the table's lock held, so that no copy can begin meanwhile.
std::optional<HostRange> removeHostRange(void* address, bool registered,
                                         const std::function<void(const HostRange&)>& before);

}  // namespace nullgpu
