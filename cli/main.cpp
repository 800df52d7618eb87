// The program's entry. It is compiled by itself, since EXPC_BUILT, which `--version` prints, changes with every build.

#include "cli/command_line.h"

int main(int argc, char** argv) { return expc::cli::commandLine(argc, argv, EXPC_BUILT); }
