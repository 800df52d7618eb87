#pragma once

// Where the time went: the words for it. The part of a report is in sections.h.

#include <string>
#include <string_view>
#include <utility>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"

namespace expc::report {

/// What heads the columns of the two levels: "fp32" and "fp64", "gpus=2" and "gpus=1", where they differ in one factor,
/// else kThisLevel and "baseline".
inline constexpr char kThisLevel[] = "this level";
std::pair<std::string, std::string> levelNames(const plan::Plan& plan, const analysis::Attribution& attribution);

/// "phases of the step".
std::string_view titleOf(const analysis::AttributionView& view);
/// "" or whose time the categories hold besides that of the step's own thread.
std::string noteOf(const analysis::AttributionView& view);

/// How a study gets profile trials of its workloads, or that those of commands have none.
std::string profileAdvice(const plan::Plan& plan);

/// Why there is no attribution, where a reader would want one: profile trials that give none, or a comparison that
/// fails and has no profile trials. Else "".
std::string withoutAttribution(const plan::Plan& plan, const analysis::Judgement& judgement,
                               const store::Results& results);

}  // namespace expc::report
