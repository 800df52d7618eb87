// Compiled by itself, since what it says of the build changes with the build.

#include "compiler/driver/command_line.h"

int main(int argc, char** argv) { return expc::driver::commandLine(argc, argv, EXPC_BUILT); }
