#pragma once

// Where a trial's temporary files go: a folder of its own on this machine, gone with all that is in it.

#include <sys/types.h>

#include <string>

namespace expc::serve {

/// The folder of process `pid` below TMPDIR (or /tmp), as it was when this was called first; "" where there can be
/// none. No other user can write there, and its name says which boot and which PID namespace the number is of.
std::string scratchFolder(pid_t pid);

/// Makes sure of an empty folder of this process; false, with a line on standard error, where that does not go.
bool makeScratch();
/// What the trial left is gone. A folder in which it left nothing stays for the next one, since making one costs more
/// than a short program takes.
void clearScratch();
/// Removes that of a process, if there is one.
void removeScratch(pid_t pid);
/// Removes those of processes that are gone, which nobody could remove.
void removeLeftScratch();

}  // namespace expc::serve
