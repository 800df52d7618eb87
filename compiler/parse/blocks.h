#pragma once

#include <vector>

#include "compiler/parse/cst.h"

namespace expc::parse {

/// A rule that holds statements: the file, or what stands in braces.
bool isBlock(Rule rule);

/// The rules that catch an error inside them, so that the next statement is read again.
bool isStatement(Rule rule);
/// Whether it is a rule that parsing starts at.
bool isWholeFile(Rule rule);

/// The block as the table of words (compiler/language) calls it; None where no head begins a statement.
uint8_t wordsBlock(Rule block);

/// The words that begin a statement of a block.
const std::vector<Token>& headsOf(Rule block);
bool isHead(Rule block, Token token);

/// Words that show that a block's brace is missing: nothing in it can begin with them. `after` is the token behind.
bool endsBlock(Rule block, Token token, Token after);

}  // namespace expc::parse
