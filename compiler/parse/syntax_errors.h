#pragma once

// What is said where the input does not fit the grammar. No text of the generated parser's reaches the user.

#include <llvm/ADT/STLExtras.h>

#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/blocks.h"
#include "compiler/parse/cst.h"
#include "compiler/parse/reporter.h"

namespace expc::parse {

/// A token with its place.
struct Located {
  Token token = Token::EndOfFile;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Where the parser stands.
struct Situation {
  std::vector<Rule> rules;      // from the innermost outwards
  std::vector<Token> expected;  // what it could go on with, in order of their numbers
  Located previous;             // the end of the file where there is none
  Located earlier;              // before `previous`, likewise
  Located found;

  bool within(Rule rule) const { return llvm::is_contained(rules, rule); }
  bool expects(Token token) const { return llvm::is_contained(expected, token); }
  /// What the end is called: a text of the command line is no file.
  std::string_view end() const {
    return rules.empty() || rules.back() == Rule::File ? "the end of the file" : "the end";
  }
};

/// "expected a level set after 'in', found 'baseline'".
void reportUnexpected(Reporter& reporter, const Situation& situation);

/// In a block (or the file): the next token begins no statement.
void reportNoStatement(Reporter& reporter, Rule block, const Situation& situation);

/// A block ends without its brace; `open` is its `{`.
void reportUnclosed(Reporter& reporter, Rule block, const Located& open, const Situation& situation);

/// Characters that begin no token.
void reportCharacters(Reporter& reporter, uint32_t begin, uint32_t end);

// ---- parts of these messages

/// "a level set, such as { a, b } or 1..4,": what could stand at a place; ends in a comma where a sentence that goes on
/// needs one.
std::string describeExpected(const Situation& situation);

/// "a statement of a study (workload, …)"
std::string describeStatements(const Block& block);
/// What a common slip, or a habit of another language, was meant to be: "; a range is written 1..4". "" for none.
/// `file` is the whole text.
std::string hint(std::string_view file, const Situation& situation);

}  // namespace expc::parse
