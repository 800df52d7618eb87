#pragma once

#include "compiler/parse/cst.h"
#include "compiler/parse/reporter.h"

namespace expc::parse {

constexpr size_t kMaxTokens = 200'000;
constexpr size_t kMaxNesting = 200;

/// Parses with the generated parser, starting at the rule of a whole file. Reports syntax errors; the tree holds what
/// was read, with broken statements marked. This is the only door to ANTLR; no exception leaves it.
Tree parseTree(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter);

}  // namespace expc::parse
