#pragma once

// Names that are unknown or declared twice, the ones that were meant, and lists of names: what every phase says in the
// same words.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace expc::diag {

EXPC_DIAGNOSTIC(UnknownName, Error, "unknown {0} '{1}'{2}");
EXPC_DIAGNOSTIC(DuplicateName, Error, "the {0} '{1}' is declared twice");

/// The candidate that `name` most likely meant: the least edit distance (case counts little), at most a third of the
/// length, the first on a tie; nothing when none is near.
std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates);

/// "did you mean 'gpus'?" where a candidate is near, else `otherwise`.
std::string didYouMean(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise);

/// Emits UnknownName with the nearest candidate as a guess, or else the list of candidates if it is short. `range`
/// holds the name and nothing else; `of` says whose name it is: " of the design". `meant` gets the guess.
Refusal unknownName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                    const Candidates& candidates, std::string_view of = "",
                    std::optional<std::string>* meant = nullptr);
/// Emits DuplicateName with a note at the first one.
Refusal duplicateName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                      source::Range first);

/// "a, b and c", or "" for none.
std::string list(const std::vector<std::string>& names, std::string_view last = "and");

}  // namespace expc::diag
