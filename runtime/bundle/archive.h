#pragma once

// Archives of files: tar, compressed with zstd. Taking one out of a stranger's archive touches nothing else. And the
// store that a bundle's archive holds, with exactly what one plan's report rests on.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <set>
#include <string>

#include "runtime/bundle/anonymous.h"
#include "runtime/plan/plan.h"
#include "runtime/store/store.h"

namespace expc::bundle {

/// Most bytes of one input in a bundle, and of all its inputs. Larger data belong beside a bundle, not into it.
inline constexpr uint64_t kMostOfInput = 4 << 20, kMostOfInputs = 16 << 20;

/// The regular files below `folder`, by their paths in it ("results/journal/000001.jsonl"). Links are left out.
llvm::Expected<std::set<std::string>> filesBelow(const std::string& folder);

/// Packs all files below `folder` into `path`, which must not exist. Files are in the order of their names and have
/// no owners and times, so that the same files make the same archive. An error leaves no file.
llvm::Error pack(const std::string& folder, const std::string& path);

/// Unpacks a stranger's archive into `folder`, which is made. Refuses links and other special files, names that are
/// absolute, hold ".." or have more than 4,096 bytes, a name twice, and more bytes, files or folders than an
/// archive of its size can have. Files that were written before an error stay.
llvm::Error unpack(const std::string& path, const std::string& folder);

/// The BLAKE3 digest of a file, as 64 hex digits.
llvm::Expected<std::string> digestOf(const std::string& path);

/// Writes sessions, the run, blocks and trials that count for `plan` into a new results folder, under new numbers.
/// `hidden`: what stands in for names; null: nothing does. Error: nothing of the plan was measured, or the folder
/// cannot be written.
llvm::Error writeExcerpt(const store::Store& from, const plan::Plan& plan, const store::Run& run,
                         const store::Results& results, const std::string& folder, const Anonymous* hidden);

}  // namespace expc::bundle
