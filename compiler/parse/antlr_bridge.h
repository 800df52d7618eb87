#pragma once

// The only door to ANTLR. Three questions can be asked of a text that load() took in: its concrete tree, where the
// grammar stands at an offset (for completion), and its tokens with comments (for the formatter and the editor). No
// exception of ANTLR leaves this file, and no text of its messages reaches the user.

#include <vector>

#include "compiler/parse/cst.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse {

/// Limits that are checked on tokens before the generated parser runs. The parser recurses over brackets, so nesting
/// that is too deep would overflow its stack.
constexpr size_t kMaxTokens = 200'000;
constexpr size_t kMaxNesting = 200;

/// Parses a text from `start`, a rule for which isWholeFile() holds. Reports syntax errors; the tree holds what was
/// read, with broken statements marked.
Tree parseTree(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter);

// ---- where the grammar stands in the middle of a file, for what is proposed there

/// Parses the text before `end` as a file and returns where the grammar stands there. Reports nothing: errors before
/// `end` are recovered from as in a check of the file.
Cursor cursorAt(const source::SourceManager& sources, source::FileId file, uint32_t end);

// ---- the tokens of a file with its comments, for what works on the text as it is written: the formatter, the editor

/// A token of a file, comments included.
struct LexedToken {
  Token kind;  // Comment and Doc (one per line) occur too; Unexpected stands for a character that begins no token
  source::Range range;
  uint32_t lines_before = 0;  // line ends since the token before; two mean an empty line

  bool isComment() const { return kind == Token::Comment || kind == Token::Doc; }
};

/// All tokens of a text that load() took in, in order; the last is EndOfFile. Only white space (and a byte order mark)
/// lies between them. Reports nothing: a text that is not closed becomes UnterminatedString. Apart from comments and
/// errors these are the tokens of parseTree(), at the same offsets.
std::vector<LexedToken> tokens(const source::SourceManager& sources, source::FileId file);

}  // namespace expc::parse
