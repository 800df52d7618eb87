#pragma once

// A file as the formatter sees it: tokens, each with the comments around it and the line breaks before it, and the
// statements and blocks that they form.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "compiler/parse/cst.h"
#include "compiler/source/source.h"

namespace expc::format {

/// A comment that has a line of its own.
struct Comment {
  std::string_view text;       // from the strokes on, without blanks at its end
  unsigned breaks_before = 0;  // line breaks since what stands before it
};

struct Piece {
  parse::Token token = parse::Token::EndOfFile;
  parse::Rule rule = parse::Rule::File;         // the rule that the token is a part of
  parse::Token head = parse::Token::EndOfFile;  // the first token of the innermost statement
  std::string_view text;
  unsigned width = 0;                        // in characters
  unsigned breaks_before = 0;                // line breaks since what stands before it, comments included
  std::vector<Comment> leading;              // comments before it, each on its own line
  std::optional<std::string_view> trailing;  // a comment after it, on the same line
  uint32_t partner = parse::kNone;           // of a bracket: the other one
  bool begins_statement = false;
  bool brace_of_block = false;

  bool opens() const { return parse::opens(token); }
  bool closes() const { return parse::closes(token); }
};

struct Statement;

/// What stands in the braces of a study, a design, …; also the whole file, which has none.
struct Block {
  parse::Rule rule = parse::Rule::File;
  uint32_t open = parse::kNone;  // indices of the braces
  uint32_t close = parse::kNone;
  std::vector<Statement> statements;
};

/// Tokens [begin, end); a statement with a body ends with it.
struct Statement {
  uint32_t begin = 0;
  uint32_t end = 0;
  parse::Rule rule = parse::Rule::File;  // of the block that it is in
  std::optional<Block> body;
};

struct File {
  std::vector<Piece> pieces;  // the end of the file is the last
  Block top;

  /// Whether a line break stands between this piece and the one before.
  bool startsLine(uint32_t piece) const;
};

/// `tree` comes from a file without syntax errors.
File takeApart(const source::SourceManager& sources, const parse::Tree& tree);

/// The number of characters of a text in UTF-8.
unsigned widthOf(std::string_view text);

/// Blanks between two neighbours on one line: none, one, or the two that set clauses and statements apart.
unsigned blanksBetween(const Piece& left, const Piece& right);

/// A clause that is set apart with two blanks: `baseline x`, `when c`, `because "…"`, `with confidence 95%`, `from …`.
bool beginsClause(const Piece& piece);

}  // namespace expc::format
