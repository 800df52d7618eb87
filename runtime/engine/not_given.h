#pragma once

// Finds what commands may look for and do not get: environment variables that are set for `expc`, and files beside the
// study. Environment and files of commands come in, or the reason of a failure; hints for the user go out. Which files
// a trial gets is decided in inputs/, which variables in setup.cpp.

#include <string>
#include <vector>

#include "runtime/engine/setup.h"

namespace expc::engine {

/// Hints before a run, one line each: variables of training libraries that commands do not get, and modules that their
/// scripts import and that are no inputs.
std::vector<std::string> notGivenLines(const CommandEnvironment& environment,
                                       const std::vector<inputs::CommandFiles>& files);

/// Hints after a failure, to be appended to its `reason`: variables or files that the reason names and the command was
/// not given, and how to give them, for example "; MODEL_DIR is set here and not passed to commands: --pass-env
/// MODEL_DIR". "" if it names nothing of that kind. `root` is the study's folder, `folder` the one in which the command
/// ran. Files that results of `command` are read from are left out, since the program has to write them.
std::string notGivenText(const std::string& reason, const plan::Command& command, const CommandEnvironment& environment,
                         const std::string& root, const std::string& folder);

}  // namespace expc::engine
