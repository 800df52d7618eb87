#pragma once

#include "compiler/expand/grid.h"

namespace expc::expand {

/// Name of a rule for people: its own, or "line 12".
std::string ruleName(const check::Rule& rule, const source::SourceManager& sources);

/// Reports on the whole grid of a study: no point at all, with a smallest set of rules to blame (E0401); a rule that
/// removes nothing (W0402); a level that never occurs (W0403).
void lintGrid(const check::Selected& whole, const Grid& grid, const source::SourceManager& sources,
              diag::Emitter& emitter);

}  // namespace expc::expand
