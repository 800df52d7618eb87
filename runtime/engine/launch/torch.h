#pragma once

// Decides which torch a worker loads. The build's own is in its run path; an installed expc uses torch's wheel beside
// it; a site may name another one with EXPC_TORCH. libtorch has no stable binary interface, so the minor version must
// agree.

#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::engine::launch {

/// The torch version that workers were built for, without its patch number: "2.11". Another minor version has another
/// binary interface.
std::string torchWanted();

/// The variables with which `worker` is started: `added`, and those that lead it to the torch that it should load.
/// Programs other than expc's torch workers get `added` alone. Error: the torch that it would load is missing or of
/// another minor version; the message says how to get the right one.
Expected<std::vector<std::string>> withTorch(const std::string& worker, std::vector<std::string> added);

}  // namespace expc::engine::launch
