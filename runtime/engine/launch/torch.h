#pragma once

// Which torch the workers load. The build's own is in their run path; an installed expc has torch's wheel beside it,
// and a site may have one of its own (EXPC_TORCH).

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

namespace expc::engine::launch {

/// "2.11": what the workers were built for; another minor version has another binary interface.
std::string torchWanted();

/// The variables with which `worker` is started: `added`, and what leads it to the torch that EXPC_TORCH names. The
/// error says which torch this worker was built for, where the one that it would load is of another minor version,
/// whose binary interface differs, and how to get it.
llvm::Expected<std::vector<std::string>> withTorch(const std::string& worker, std::vector<std::string> added);

}  // namespace expc::engine::launch
