#pragma once

// The same work on many items by several threads.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <functional>

namespace expc::base {

/// Called between items by the calling thread with how many are done; its error ends the work.
using Tick = std::function<llvm::Error(int64_t done, int64_t total)>;

/// As many threads as this process may use cores.
unsigned allCores();

/// Calls `work` for 0 to count - 1, each once, from several threads, the calling one among them. The first item that
/// fails, in the order of items, gives the error; items after it may be left out.
llvm::Error forEach(int64_t count, unsigned threads, const std::function<llvm::Error(int64_t)>& work,
                    const Tick& tick = nullptr);

}  // namespace expc::base
