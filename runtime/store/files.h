#pragma once

// Files of a results folder: what can go wrong with them, in words that say what to do.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>

namespace expc::store {

/// `folder` cannot be written, because of `error` (an errno).
llvm::Error cannotWrite(const std::string& folder, int error);

/// Makes `folder` and its parents.
llvm::Error makeFolder(const std::string& folder);

/// Where the output of a command's trial is kept, below a results folder.
std::string keptOutput(const std::string& results, int64_t trial);

}  // namespace expc::store
