#pragma once

#include <vector>

#include "compiler/format/lines.h"
#include "compiler/format/pieces.h"

namespace expc::format {

/// A piece of a statement with which a column begins.
struct ColumnStart {
  uint32_t piece;
  unsigned column;  // only cells of one column are aligned with each other
};

struct Columns {
  parse::Token alike = parse::Token::EndOfFile;  // as in Line
  std::vector<ColumnStart> starts;               // in order
};

/// The columns of a statement that stands on one line: `factor NAME`, `in SET`, `baseline X`.
Columns columnsOf(const File& file, const Statement& statement);

}  // namespace expc::format
