#pragma once

// The tokens of a file with its comments, for what works on the text as it is written: the formatter, the editor.

#include <vector>

#include "compiler/parse/cst.h"

namespace expc::parse {

struct LexedToken {
  Token kind;  // Comment and Doc (one a line) among them; Unexpected for a character that begins no token
  source::Range range;
  uint32_t lines_before = 0;  // line ends between the token before it and this one: two mean an empty line

  bool isComment() const { return kind == Token::Comment || kind == Token::Doc; }
};

/// A bracket of any kind.
inline bool opens(Token kind) {
  return kind == Token::LeftParen || kind == Token::LeftBracket || kind == Token::LeftBrace;
}
inline bool closes(Token kind) {
  return kind == Token::RightParen || kind == Token::RightBracket || kind == Token::RightBrace;
}

/// All tokens of a file that load() took in, in order; the last is EndOfFile. Only white space (and a byte order mark)
/// lies between them. Reports nothing: a text that is not closed is UnterminatedString. Apart from comments and errors
/// they are those that parseTree() (antlr_bridge.h) hangs into its tree, at the same offsets.
std::vector<LexedToken> tokens(const source::SourceManager& sources, source::FileId file);

}  // namespace expc::parse
