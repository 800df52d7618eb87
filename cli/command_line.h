#pragma once

// The `expc` command: options in, one call out.

#include <string>

namespace expc::cli {

/// Reads main's arguments, does what they ask for, and returns the exit code. `built` is what `--version` says of the
/// build.
int commandLine(int argc, char** argv, const std::string& built);

}  // namespace expc::cli
