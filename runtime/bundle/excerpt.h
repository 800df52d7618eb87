#pragma once

// Writes the store that a bundle holds: exactly what one plan's report rests on, under new numbers.

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/bundle/anonymous.h"
#include "runtime/plan/plan.h"
#include "runtime/store/store.h"

namespace expc::bundle {

/// Writes sessions, the run, blocks and trials that count for `plan` into a new results folder, under new numbers.
/// `hidden`: what stands in for names; null: nothing does. Error: nothing of the plan was measured, or the folder
/// cannot be written.
llvm::Error writeExcerpt(const store::Store& from, const plan::Plan& plan, const store::Run& run,
                         const store::Results& results, const std::string& folder, const Anonymous* hidden);

}  // namespace expc::bundle
