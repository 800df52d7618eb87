#pragma once

// The sentences of one claim and of its result: "fp32 is at least 1.2 times as fast as fp64 in both
// configurations". Claims that join several assertions have no such sentence; the line of their verdict tells them.

#include <string>

#include "runtime/describe/description.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {

/// Returns what the claim says, without a full stop.
std::string claimSentence(const Findings& findings, const Judged& of);

/// Returns what was found instead, for a claim that does not hold: "slower is 1.03 times as fast as old (claimed: at
/// least 1.2)".
std::string findingSentence(const Findings& findings, const Judged& of);

/// Returns the numbers of the finding as a sentence: "Closest to the bound at gpus=2: 1.74x (95 % interval 1.36x
/// to 2.62x, 7 pairs)."; "" if the finding has said them. With `brief` without the medians.
std::string evidenceSentence(const Findings& findings, const Judged& of, bool brief = false);

}  // namespace expc::report
