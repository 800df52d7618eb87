#pragma once

#include <llvm/Support/JSON.h>

#include "compiler/survey/survey.h"

namespace expc::lower {

/// What a selected study means: by section its lowered declarations as they follow each other, and sums of the ids of
/// its points. Not where they stand, how they are written, or what any machine can run.
llvm::json::Object meaningOf(const expand::Space& space, const Survey& survey);
/// Its hash, the same in whichever order things are declared.
std::string digestOf(llvm::json::Object meaning);

}  // namespace expc::lower
