#pragma once

#include <vector>

#include "compiler/parse/cst.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse {

constexpr size_t kMaxTokens = 200'000;
constexpr size_t kMaxNesting = 200;

/// Parses with the generated parser, starting at the rule of a whole file. Reports syntax errors; the tree holds what
/// was read, with broken statements marked. This is the only door to ANTLR; no exception leaves it.
Tree parseTree(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter);

// ---- where the grammar stands in the middle of a file, for what is proposed there

/// Reads the text before `end` as a file. What is wrong before is passed over as it is when a file is checked.
Cursor cursorAt(const source::SourceManager& sources, source::FileId file, uint32_t end);

// ---- the tokens of a file with its comments, for what works on the text as it is written: the formatter, the editor

struct LexedToken {
  Token kind;  // Comment and Doc (one a line) among them; Unexpected for a character that begins no token
  source::Range range;
  uint32_t lines_before = 0;  // line ends between the token before it and this one: two mean an empty line

  bool isComment() const { return kind == Token::Comment || kind == Token::Doc; }
};

/// All tokens of a file that load() took in, in order; the last is EndOfFile. Only white space (and a byte order mark)
/// lies between them. Reports nothing: a text that is not closed is UnterminatedString. Apart from comments and errors
/// they are those that parseTree() hangs into its tree, at the same offsets.
std::vector<LexedToken> tokens(const source::SourceManager& sources, source::FileId file);

}  // namespace expc::parse
