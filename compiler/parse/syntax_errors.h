#pragma once

// What is said where the input does not fit the grammar. No text of the generated parser's reaches the user.

#include <string>
#include <string_view>
#include <vector>

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
  bool has_previous = false;
  Located previous;
  Located earlier;  // before `previous`; the end of the file where there is none
  Located found;
};

/// "expected a level set after 'in', found 'baseline'".
void reportUnexpected(const source::SourceManager& sources, Reporter& reporter, const Situation& situation);

/// In a block (or the file): the next token begins no statement. `heads` are the words that do.
void reportNoStatement(const source::SourceManager& sources, Reporter& reporter, Rule block, const Situation& situation,
                       const std::vector<Token>& heads);

/// A block ends without its brace; `open` is its `{`.
void reportUnclosed(const source::SourceManager& sources, Reporter& reporter, Rule block, const Located& open,
                    const Situation& situation);

/// Characters that begin no token.
void reportCharacters(const source::SourceManager& sources, Reporter& reporter, uint32_t begin, uint32_t end);
void reportUnterminated(Reporter& reporter, uint32_t begin, uint32_t end);
void reportTooManyTokens(Reporter& reporter, uint32_t at, size_t limit);
void reportNestingTooDeep(Reporter& reporter, uint32_t at, size_t limit);

}  // namespace expc::parse
