#pragma once

// The sentences of one claim and of its result: "fp32 is at least 1.2 times as fast as fp64 in both
// configurations". Claims that join several assertions have no such sentence; the line of their verdict tells them.

#include <string>
#include <vector>

#include "runtime/judge/judge.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {

/// Returns what the claim says, without a full stop.
std::string claimSentence(const judge::Judgement& judgement, const Judged& of);

/// Returns what was found instead, for a claim that does not hold: "slower is 1.03 times as fast as old (claimed: at
/// least 1.2)".
std::string findingSentence(const judge::Judgement& judgement, const Judged& of);

/// Returns the numbers behind it as a sentence: "Lowest at gpus=2: 1.74x (95 % interval 1.36x to 2.62x, 7 pairs)."; ""
/// if the finding has said them.
std::string evidenceSentence(const judge::Judgement& judgement, const Judged& of);

/// Returns the text with a capital and a full stop; a label such as "precision=fp32" keeps its letter.
std::string sentence(const std::string& text);

/// Joins names: "a", "a and b", "a, b and c".
std::string listed(std::vector<std::string> names);

}  // namespace expc::report
