#pragma once

// The table of page-locked ranges of the process. Allocation and registration enter them; copies
// and their guards look them up. It is apart from host_memory.h because the guards need it and are
// needed there. Thread-safe; the handler of faults reads it too.

#include <cstddef>
#include <functional>
#include <optional>

namespace nullgpu {

/// A page-locked range of host memory.
struct HostRange {
  char* begin = nullptr;
  size_t bytes = 0;
  bool registered = false;  // registered by the caller, whose memory it is, and not allocated here
  /// All of it was writable when it was entered.
  bool writable = true;
};

/// The page-locked range that contains all `bytes` from `address` on; nothing if no single range
/// does.
std::optional<HostRange> hostRange(const void* address, size_t bytes = 1);

/// Enters a range. @returns false if a part of it is in the table already.
bool addHostRange(const HostRange& range);
/// Takes out the range that begins at `address` and was registered or allocated, as `registered`
/// says; nothing if there is none. `before` is called for it with the table's lock held, so that no
/// copy can find the range and start in between.
std::optional<HostRange> removeHostRange(void* address, bool registered,
                                         const std::function<void(const HostRange&)>& before);

}  // namespace nullgpu
