#pragma once

// Finds the line of Python at which the host waits, asks torch for its allocator's peaks and for the owners of its
// memory when that runs out, and lets torch send objects from rank to rank, in programs that run Python. Nothing here
// is linked with Python: its functions are looked up by name.

#include <cstdint>

namespace nullgpu {

/// Lets Python's main thread look, at the first time also for what torch's allocator will tell.
/// Without effect in programs without Python, and from the second call on where nobody asks for a record. Thread-safe;
/// takes no lock of the interpreter.
void askPython();
/// Counts a wait that is just over for the line at which Python's main thread is.
void placeWait(uint64_t nanoseconds);

}  // namespace nullgpu
