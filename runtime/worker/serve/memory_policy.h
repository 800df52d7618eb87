#pragma once

// On which cores a process runs, and on which NUMA nodes its memory is.

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

namespace expc::serve {

/// From here on this thread, and those that it starts, run on `cores` alone; no cores leave it as it is. "" or what the
/// system said against it.
std::string bindCores(const std::vector<int>& cores);

/// From here on this process, its threads and children take memory from `nodes` alone; no nodes leave it as it is. ""
/// or what the system said against it.
std::string bindMemory(const std::vector<int>& nodes);

/// Adds what is in force now, as the system says it: "cores", and "memory_nodes" where memory is bound.
void describePlace(llvm::json::Object& environment);

}  // namespace expc::serve
