#pragma once

#include <set>
#include <string>
#include <utility>

#include "compiler/lower/claims.h"
#include "compiler/lower/pairs.h"

namespace expc::lower {

/// On the whole study: comparisons without partners (E0405, W0406), criteria that ask about no point (E0407).
void lintPairs(const check::Selected& whole, const expand::Grid& grid, const source::SourceManager& sources,
               diag::Emitter& emitter);

/// On an effective design: criteria that can never pass (E0501) or never fail (W0502). `reported` keeps one report of a
/// kind for each criterion over several selections; `selection` names this one ("preset quick", "" for the study).
void lintRepetitions(const check::Selected& selected, const expand::Grid& grid, const source::SourceManager& sources,
                     const std::string& selection, std::set<std::pair<diag::Kind, const check::Criterion*>>& reported,
                     diag::Emitter& emitter);

}  // namespace expc::lower
