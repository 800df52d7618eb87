#pragma once

// Finds the line of Python at which the host waits, and asks torch for its allocator's peaks, in
// programs that run Python. Nothing here is linked with Python: its functions are looked up by name.

#include <cstdint>

namespace nullgpu {

/// Counts a wait that is just over for the line at which Python's main thread is. The first call
/// also lets the interpreter store torch's peaks when it ends. Without effect in programs without
/// Python, or where nobody asks for a record. Thread-safe; takes no lock of the interpreter.
void placeWait(uint64_t nanoseconds);

}  // namespace nullgpu
