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

/// Takes what a trial's program wrote along to another folder, where the trial has another number. Where it cannot be
/// had, the trial is only not to be read again.
void copyOutput(const std::string& from, int64_t trial, const std::string& to, int64_t number);

}  // namespace expc::store
