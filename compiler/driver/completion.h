#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "compiler/driver/console.h"

namespace expc::driver {

/// `expc complete-words …`, for the scripts of compiler/driver/completion: prints what could stand at the cursor.
/// Commands, options and choices are those that `app` declares. Returns the exit code.
int printCompletion(CLI::App& app, const std::vector<std::string>& arguments, const Console& console);

/// The words of a line as a shell parts them.
std::vector<std::string> shellWords(const std::string& line);

/// `expc completion SHELL`
int printCompletionScript(const std::string& shell, const Console& console);

}  // namespace expc::driver
