#pragma once

// Files that are there whole or not at all, also after a crash of the machine.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace expc::io {

/// Writes the parts, one after the other, to a file beside `path`, has the system put it on the disk, and moves it
/// there. The error names the file and what the system said ("No space left on device"); what was there before is
/// untouched then, and nothing is left beside it.
llvm::Error writeDurably(const std::string& path, const std::vector<llvm::ArrayRef<uint8_t>>& parts);

/// Moves a file or folder within a file system, over a file that may be there, and has the system put that on the disk.
llvm::Error moveDurably(const std::string& from, const std::string& to);

/// Has the system put an open file on the disk: 0, or its error. A file system that cannot (EINVAL) does no worse than
/// without.
int synchronise(int file);

/// BLAKE3 of the parts, one after the other, as 64 hexadecimal digits.
std::string digestOf(const std::vector<llvm::ArrayRef<uint8_t>>& parts);

}  // namespace expc::io
