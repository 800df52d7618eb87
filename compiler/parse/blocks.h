#pragma once

#include <vector>

#include "compiler/parse/cst.h"

namespace expc::parse {

/// A rule that holds statements: the file, or what stands in braces.
struct Block {
  Rule rule;
  std::string_view name;  // as messages call it
  uint8_t words;          // as the table of words (compiler/language) calls it; None where no head begins a statement
  bool names;             // whether statements may begin with a name of their own: assignments, settings
  std::string_view statements;  // what they are, where no head begins them
};
bool isBlock(Rule rule);
/// That of a rule, or else the file.
const Block& blockOf(Rule rule);

/// The rules that catch an error inside them, so that the next statement is read again.
bool isStatement(Rule rule);
/// Whether it is a rule that parsing starts at.
bool isWholeFile(Rule rule);

/// The words that begin a statement of a block.
const std::vector<Token>& headsOf(Rule block);
bool isHead(Rule block, Token token);

/// Words that show that a block's brace is missing: nothing in it can begin with them. `after` is the token behind.
bool endsBlock(Rule block, Token token, Token after);

}  // namespace expc::parse
