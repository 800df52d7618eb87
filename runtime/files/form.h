#pragma once

#include <llvm/ADT/StringRef.h>

#include <string_view>

namespace expc::files {

/// What a file is by its first bytes, and the way to what was wanted; "" of text in UTF-8 and of all that is not known.
std::string_view formOf(llvm::StringRef bytes);

}  // namespace expc::files
