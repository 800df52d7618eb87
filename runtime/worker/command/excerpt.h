#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace expc::command {

/// The beginning of a text, fit to stand in a message: one line, bytes that are not printable ASCII as '?'.
std::string excerpt(llvm::StringRef text, size_t most = 120);

/// The last line of `text` that is not blank, as an excerpt; "" if there is none.
std::string lastLine(llvm::StringRef text);

}  // namespace expc::command
