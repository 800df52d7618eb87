#pragma once

// The part of an engine that runs on a node: it takes trials over its standard input and runs them by a LocalLauncher.

namespace expc::engine {

/// Serves the engine at the other end of the standard streams until these end.
void runAgent();

}  // namespace expc::engine
