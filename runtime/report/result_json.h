#pragma once

#include <llvm/Support/JSON.h>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::report {

/// The judgement as JSON ("expc.report/1"), self-explaining: cells by the labels of their factors, values in base
/// units. Values that are not finite (a timeout is worse than every value) are the strings "inf" and "-inf".
llvm::json::Value resultJson(const plan::Plan& plan, const analysis::Judgement& judgement,
                             const store::Results& results);

}  // namespace expc::report
