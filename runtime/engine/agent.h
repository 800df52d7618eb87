#pragma once

// The part of an engine that runs on a node: it takes trials over a connection and runs them by a LocalLauncher.

#include <llvm/Support/Error.h>

#include <string>

namespace expc::engine {

/// Meets the engine whose meeting place is in this file, and serves it until the connection ends. The error says why it
/// did not come to that.
llvm::Error runAgent(const std::string& meeting_place);

}  // namespace expc::engine
