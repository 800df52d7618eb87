#pragma once

// Writes the store of a bundle: exactly the records that one plan's report rests on, under new numbers.

#include <string>

#include "runtime/base/llvm.h"
#include "runtime/bundle/anonymous.h"
#include "runtime/plan/plan.h"
#include "runtime/store/store.h"

namespace expc::bundle {

/// Writes the sessions, run, blocks and trials that count for `plan` into a new results folder, under new numbers.
/// `hidden` replaces names; null: names stay. Errors: nothing of the plan was measured, or the folder cannot be
/// written.
Error writeExcerpt(const store::Store& from, const Plan& plan, const store::Run& run, const Results& results,
                   const std::string& folder, const Anonymous* hidden);

}  // namespace expc::bundle
