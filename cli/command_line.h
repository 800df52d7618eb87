#pragma once

// The entry of the `expc` command: options in, one call out. It is a function of its own so that main.cpp, which
// changes with every build, stays small.

#include <string>

namespace expc::cli {

/// Reads main's arguments, does what they ask for, and returns the exit code. `built` is what `--version` says of the
/// build.
int commandLine(int argc, char** argv, const std::string& built);

}  // namespace expc::cli
