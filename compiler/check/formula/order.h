#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstddef>

namespace expc::check {

/// Calls `visit` for each of 0…`count`-1 once, and after all that `needs` tells for it. A thing that needs itself, by
/// others or alone, is told to `cycle` once for each way round, and then goes before what it needs.
void inOrder(size_t count, llvm::function_ref<void(size_t, llvm::function_ref<void(size_t)>)> needs,
             llvm::function_ref<void(size_t)> visit, llvm::function_ref<void(size_t)> cycle);

}  // namespace expc::check
