#pragma once

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/rehearsal/rehearsal.h"
#include "runtime/store/records.h"

namespace expc::report {

/// A number, or "inf", "-inf" or "nan", which JSON has no numbers for; null where there is none; and an interval of
/// such, or null.
llvm::json::Value numberJson(double value);
llvm::json::Value numberJson(const std::optional<double>& value);
llvm::json::Value intervalJson(const std::optional<stats::Interval>& interval);
/// What was asked for and has no value.
llvm::json::Array missingJson(const std::vector<analysis::Missing>& missing);

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
