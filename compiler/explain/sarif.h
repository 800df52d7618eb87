#pragma once

#include <llvm/Support/JSON.h>

#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::explain {

/// Diagnostics as a SARIF 2.1.0 log: the rules that occur with their pages as help, results with related places and
/// fixes. `version` is the program's.
llvm::json::Value sarifLog(const source::SourceManager& sources, const std::vector<diag::Diagnostic>& diagnostics,
                           std::string_view version);

}  // namespace expc::explain
