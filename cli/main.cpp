// Compiled by itself, since what it says of the build changes with the build.

#include "cli/command_line.h"

int main(int argc, char** argv) { return expc::cli::commandLine(argc, argv, EXPC_BUILT); }
