#pragma once

// Words for attributions that terminal and page share.

#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"

namespace expc::report {

/// "precision=fp32 against fp64, gpus=1": the levels that differ, then those that are the same.
std::string pairText(const plan::Plan& plan, const analysis::Attribution& attribution);

/// "judged by fp32_pays, copies_half and 3 more", or "" where no criterion asks about the pair.
std::string judgedText(const analysis::Attribution& attribution);

/// What heads the columns of the two levels: "fp32" and "fp64", "gpus=2" and "gpus=1", where they differ in one factor,
/// else kThisLevel and "baseline".
inline constexpr char kThisLevel[] = "this level";
std::pair<std::string, std::string> levelNames(const plan::Plan& plan, const analysis::Attribution& attribution);

/// "a step takes 12.3 ms against 20.1 ms (-7.8 ms, 95 % interval [-8.1 ms, -7.4 ms]); means of 7 profile trials of
/// each, in the same blocks".
std::string stepText(const analysis::Attribution& attribution);

/// What a reader must know before the shares are taken for a fact: that the timed trials, or the profiles themselves,
/// show no difference, or not yet; a sentence each.
std::vector<std::string> cautions(const plan::Plan& plan, const analysis::Attribution& attribution);

/// "95 % interval", and one of a category's difference: "[-8.10 ms, -7.43 ms]"; "" without.
std::string intervalHead();
std::string intervalText(const analysis::CategoryShare& category);

/// "backward", "all_reduce, beside these".
std::string categoryText(const analysis::CategoryShare& category);

/// "+1.2 ms", "-310 us", "0 s".
std::string differenceText(double seconds);

/// "62 %", or "" without a share.
std::string shareText(const analysis::CategoryShare& category);

/// How a study gets profile trials of its workloads, or that those of commands have none.
std::string profileAdvice(const plan::Plan& plan);

/// Why there is no attribution, where a reader would want one: profile trials that give none, or a comparison that
/// fails and has no profile trials. Else "".
std::string withoutAttribution(const plan::Plan& plan, const analysis::Judgement& judgement,
                               const store::Results& results);

}  // namespace expc::report
