#pragma once

#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/store/records.h"

namespace expc::report {

/// The judgement as JSON ("expc.report/1"), self-explaining: cells by the labels of their factors, values in base
/// units. What was `rehearsed` stands apart, and only where there is something. Values that are not finite (a timeout
/// is worse than every value) are the strings "inf" and "-inf".
llvm::json::Value resultJson(const plan::Plan& plan, const analysis::Judgement& judgement,
                             const store::Results& results, const rehearsal::Study* rehearsed = nullptr);

/// The same as text. Where it is not to be `whole`, values of single runs and blocks and the ids of cells' points are
/// left out, which are most of it in a large study.
std::string resultJsonText(const plan::Plan& plan, const analysis::Judgement& judgement, const store::Results& results,
                           const rehearsal::Study* rehearsed, bool whole);

}  // namespace expc::report
