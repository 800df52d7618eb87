#pragma once

// Makes folders for results, and says why one cannot be written, in words that name a way out.

#include <string>

#include "runtime/base/llvm.h"

namespace expc::files {

/// Why the results folder cannot be written, because of `error` (an errno).
Error cannotWrite(const std::string& folder, int error);
/// Makes `folder` and its parents.
Error makeFolder(const std::string& folder);

}  // namespace expc::files
