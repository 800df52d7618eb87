#pragma once

#include <llvm/Support/Error.h>

#include <map>
#include <memory>
#include <string>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/console.h"

namespace expc::driver {

/// Gives files that exist new texts, by name: each whole or not at all, and none if one is not to be written. A file's
/// mode stays, and a link goes on to point at it; a read-only file is refused, even where its folder would allow it.
/// Errors begin with "cannot write" and the file's name.
llvm::Error replaceFiles(const std::map<std::string, std::string>& texts);

/// Carries out the certain fixes of the study's diagnostics, round by round until none is left: in the study's file and
/// the files that it imports, or with `diff` only shown on standard output. `left` is then the last check. Returns
/// false after saying why nothing could be written.
bool fix(const StudyOptions& options, bool diff, const Console& console, std::unique_ptr<Compilation>& left);

}  // namespace expc::driver
