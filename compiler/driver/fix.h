#pragma once

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/console.h"

namespace expc::driver {

/// Carries out the certain fixes of the study's diagnostics, round by round until none is left: in the study's file and
/// the files that it imports, or with `diff` only shown on standard output. `left` is then the last check. Returns
/// false after saying why nothing could be written.
bool fix(const StudyOptions& options, bool diff, const Console& console, std::unique_ptr<Compilation>& left);

}  // namespace expc::driver
