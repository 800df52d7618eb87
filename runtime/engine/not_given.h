#pragma once

// Finds what commands may look for and do not get: variables that are set for `expc`, and files beside the study.
// Plans, options and reasons of failures come in, hints for a reader go out. Which files a trial gets is decided in
// inputs/.

#include <string>
#include <vector>

#include "runtime/engine/setup.h"

namespace expc::engine {

/// A line each, for people: variables of libraries for training that commands do not get, and modules that their
/// scripts import and that are not inputs.
std::vector<std::string> notGivenLines(const CommandEnvironment& environment,
                                       const std::vector<inputs::CommandFiles>& files);

/// More words for the reason of a command's failure: what it names and was not given, and the way to give it, as
/// "; MODEL_DIR is set here and not passed to commands: --pass-env MODEL_DIR". "" where it names nothing of that kind.
/// `root` is the study's folder, `folder` the one that the command ran in. Files that results of `command` are read
/// from are the program's to write.
std::string notGivenText(const std::string& reason, const plan::Command& command, const CommandEnvironment& environment,
                         const std::string& root, const std::string& folder);

}  // namespace expc::engine
