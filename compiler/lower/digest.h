#pragma once

#include <llvm/Support/JSON.h>

#include <string>

#include "compiler/survey/prepared.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// A text whatever its layout.
std::string withoutBlanks(std::string text);
/// What a selected study means, by section: the fields of its outlined plan without texts, labels and what a machine
/// makes of them, beside sums of the ids of its points and of what its criteria ask about. Declarations follow each
/// other as they do in the plan.
llvm::json::Object meaningOf(const plan::Plan& head, const Prepared& prepared);
/// Its hash, the same in whichever order things are declared.
std::string digestOf(llvm::json::Object meaning);

}  // namespace expc::lower
