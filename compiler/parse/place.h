#pragma once

// Where the grammar stands in the middle of a file, for what is proposed there.

#include <vector>

#include "compiler/parse/cst.h"

namespace expc::parse {

/// What the parser was reading when the text ended.
struct Place {
  struct Open {
    Rule rule;
    uint32_t begin;  // of its first token; where the text ends if there is none yet
  };
  std::vector<Open> rules;      // from the innermost outwards
  std::vector<Token> expected;  // what may come next; empty in a statement that
                                // cannot be understood
};

/// Reads the text before `end` as a file. What is wrong before is passed over as it is when a file is checked.
Place placeAt(const source::SourceManager& sources, source::FileId file, uint32_t end);

}  // namespace expc::parse
