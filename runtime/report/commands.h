#pragma once

// Commands that a reader of results can type.

#include <map>
#include <string>

#include "runtime/plan/plan.h"

namespace expc::report {

/// A shell command that repeats the plan, with its results in `folder`; `repetitions` in place of the planned ones of
/// the kinds that it names, and a budget of so many seconds in place of the plan's where `budget_seconds` is above 0.
std::string repeatCommand(const plan::Plan& plan, const std::string& folder = "results",
                          const std::map<plan::TrialKind, unsigned>& repetitions = {}, double budget_seconds = 0);

/// Two that measure the plan anew into another folder, and hold it against the results in `folder`.
std::string replicateCommand(const plan::Plan& plan, const std::string& folder);

/// One that reports what is stored of the plan in `folder`.
std::string reportCommand(const plan::Plan& plan, const std::string& folder);

/// One that shows the study without presets and overrides.
std::string wholeStudyCommand(const plan::Plan& plan);

}  // namespace expc::report
