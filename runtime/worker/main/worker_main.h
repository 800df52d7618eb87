#pragma once

#include <vector>

#include "runtime/worker/device/device.h"

namespace expc::worker {

/// The command line of every worker: --serve FD, --describe, --trial FILE, --help. Ends the process with the exit code.
[[noreturn]] void workerMain(int argc, char** argv, const std::vector<device::Backend>& backends);

}  // namespace expc::worker
