#pragma once

// Packs and unpacks archives of files: tar, compressed with zstd. Unpacking a stranger's archive writes nothing
// outside of the folder that it is unpacked into.

#include <cstdint>
#include <set>
#include <string>

#include "runtime/base/llvm.h"

namespace expc::bundle {

/// Most bytes of one input in a bundle, and of all its inputs. Larger data belong beside a bundle, not into it.
inline constexpr uint64_t kMostOfInput = 4 << 20, kMostOfInputs = 16 << 20;

/// The regular files below `folder`, by their paths in it ("results/journal/000001.jsonl"). Links are left out.
Expected<std::set<std::string>> filesBelow(const std::string& folder);

/// Packs all files below `folder` into `path`, which must not exist. Files are in the order of their names and have
/// no owners and times, so that the same files make the same archive. An error leaves no file.
Error pack(const std::string& folder, const std::string& path);

/// Unpacks a stranger's archive into `folder`, which is made. Refuses links and other special files, names that are
/// absolute, hold ".." or have more than 4,096 bytes, a name twice, and more bytes, files or folders than an
/// archive of its size can have. Files that were written before an error stay.
Error unpack(const std::string& path, const std::string& folder);

/// The BLAKE3 digest of a file, as 64 hex digits.
Expected<std::string> digestOf(const std::string& path);

}  // namespace expc::bundle
