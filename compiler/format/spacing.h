#pragma once

#include "compiler/format/pieces.h"

namespace expc::format {

/// Blanks between two neighbours on one line: none, one, or the two that set clauses and statements apart.
unsigned blanksBetween(const Piece& left, const Piece& right);

/// A clause that is set apart with two blanks: `baseline x`, `when c`, `because "…"`, `with confidence 95%`, `from …`.
bool beginsClause(const Piece& piece);

}  // namespace expc::format
