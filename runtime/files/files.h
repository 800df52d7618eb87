#pragma once

// The one way in which files are read, written and removed. What a user or a stranger names may be a device, a pipe or
// a link: none of these is waited for, none is replaced, and no more is read than there is.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>

namespace expc::files {

/// Of a file that a person writes, and of one that a program does.
inline constexpr uint64_t kMostByHand = 64ull << 20, kMost = 4ull << 30;

/// A regular file's content; a link is followed. Errors name the file, and carry the system's code: it is none, it has
/// more than `most` bytes, or it cannot be read.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> read(const std::string& path, uint64_t most = kMost);

/// Makes a file whole or not at all, also after a crash of the machine: `make` writes it under the name that it is
/// given, and it is then moved to `path`, over a regular file that may be there, whose permissions it keeps. Whatever
/// else has the name (a device, a pipe, a link) stays, and is written to. On an error what was there stays, and nothing
/// is left beside it.
llvm::Error writeBy(const std::string& path, llvm::function_ref<llvm::Error(const std::string& temporary)> make);
llvm::Error write(const std::string& path, llvm::StringRef text);

/// Writes all of it; 0, or the system's error.
int writeAll(int file, llvm::StringRef text);

/// "PATH: No space left on device".
llvm::Error systemError(const std::string& path, int code);

/// Removes a folder with all that is in it, also what its maker left read-only; links are removed, not followed. False
/// where something stays.
bool removeTree(const std::string& path);

}  // namespace expc::files
