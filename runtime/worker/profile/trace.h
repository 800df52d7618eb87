#pragma once

// A trace of everything that libtorch does, by its own profiler (Kineto), as a Chrome trace that Perfetto opens. It
// costs 30-40 % of a step on the CPU and 40 us an event: what runs under it is never measured.

#include <llvm/Support/Error.h>

#include <string>

namespace expc::profile {

/// Whether ranges leave events. True between the two calls below.
bool isTracing();

/// On a GPU its kernels and copies are traced too.
void startTrace(bool gpu);
/// Ends it and writes `path`. The error names the path.
llvm::Error finishTrace(const std::string& path);

}  // namespace expc::profile
