#pragma once

#include <llvm/Support/Error.h>

#include <map>
#include <string>

namespace expc::driver {

/// Gives files that exist new texts, by name: each whole or not at all, and none if one is not to be written. A file's
/// mode stays, and a link goes on to point at it; a read-only file is refused, even where its folder would allow it.
/// Errors begin with "cannot write" and the file's name.
llvm::Error replaceFiles(const std::map<std::string, std::string>& texts);

}  // namespace expc::driver
