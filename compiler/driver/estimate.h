#pragma once

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::driver {

/// What is stored for `plan`, of the newest worker that ran it; nothing where the folder holds no results. The error
/// says why it cannot be read.
llvm::Expected<store::Results> storedOf(const plan::Plan& plan, const std::string& results_folder, bool null_cards);

}  // namespace expc::driver
