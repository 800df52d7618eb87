// Takes a file apart: walks the concrete tree from left to right and makes a Piece of each token. Comments and line
// breaks are no part of the tree, so they are read from the text between two tokens. A comment on the line of the token
// before belongs to that token, all others to the token behind.
//
// The second half of the file holds the rules for blanks between two tokens on one line.

#include "compiler/format/pieces.h"

#include <algorithm>
#include <cassert>

#include "compiler/parse/cst.h"

namespace expc::format {

using parse::kNone;
using parse::Node;
using parse::Rule;
using parse::Token;

namespace {

/// Removes blanks and line ends (\n, \r\n or \r) from the front of `gap`, up to a comment, and returns the number of
/// line ends.
unsigned takeBlanks(std::string_view& gap) {
  unsigned breaks = 0;
  while (!gap.empty() && !gap.starts_with("//")) {
    const bool pair = gap.starts_with("\r\n");
    if (gap.front() == '\n' || gap.front() == '\r') ++breaks;
    gap.remove_prefix(pair ? 2 : 1);
  }
  return breaks;
}

/// Removes a comment from the front of `gap`, without its line end, and returns it without blanks at its end.
std::string_view takeComment(std::string_view& gap) {
  const size_t end = std::min(gap.find_first_of("\r\n"), gap.size());
  std::string_view text = gap.substr(0, end);
  gap.remove_prefix(end);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

/// Fills a File from the tree.
class Reader {
 public:
  Reader(std::string_view text, const parse::Tree& tree, File& file) : text_(text), tree_(tree), file_(file) {}

  void read() {
    visit(0, file_.top);
    if (file_.pieces.empty() || file_.pieces.back().token != Token::EndOfFile) {
      // Later stages need the end of the file as a piece: the last comments stand in front of it.
      Piece end;
      addPiece(end, uint32_t(text_.size()), uint32_t(text_.size()));
    }
    matchBrackets();
  }

 private:
  /// Reads everything below a node; statements are added to `block`.
  void visit(uint32_t at, Block& block) {
    const Node& node = tree_.nodes[at];
    for (uint32_t child = node.child; child; child = tree_.nodes[child].next) visitChild(child, node, block);
  }

  /// Reads one child: a token, a statement, or a rule whose statements belong to the same block.
  void visitChild(uint32_t at, const Node& parent, Block& block) {
    const Node& node = tree_.nodes[at];
    if (node.is_token) return addToken(node, parent.rule);
    if (!parse::isStatement(node.rule)) return visit(at, block);
    Statement statement;
    statement.begin = next();
    statement.rule = block.rule;
    // A statement may hold a block with statements of its own; afterwards its own head is current again.
    const Token outer = head_;
    head_ = Token::EndOfFile;
    visitStatement(at, statement);
    statement.end = next();
    head_ = outer;
    block.statements.push_back(std::move(statement));
  }

  /// Reads everything below a statement, including its body.
  void visitStatement(uint32_t at, Statement& statement) {
    for (uint32_t child = tree_.nodes[at].child; child; child = tree_.nodes[child].next) {
      const Node& node = tree_.nodes[child];
      if (node.is_token) {
        addToken(node, tree_.nodes[at].rule);
      } else if (parse::isBlock(node.rule)) {
        assert(!statement.body && "a statement has one body");
        statement.body.emplace();
        statement.body->rule = node.rule;
        statement.body->open = next();
        visit(child, *statement.body);
        statement.body->close = next() - 1;
        file_.pieces[statement.body->open].brace_of_block = true;
        file_.pieces[statement.body->close].brace_of_block = true;
      } else {
        visitStatement(child, statement);
      }
    }
  }

  void addToken(const Node& node, Rule rule) {
    Piece piece;
    piece.token = node.token;
    piece.rule = rule;
    piece.begins_statement = head_ == Token::EndOfFile && node.token != Token::EndOfFile;
    if (piece.begins_statement) head_ = node.token;
    piece.head = head_;
    addPiece(piece, node.begin, node.end);
  }

  /// Adds a token, with the comments and line breaks between it and the one before.
  void addPiece(Piece piece, uint32_t begin, uint32_t end) {
    // The end of the file stands behind everything, the last comments and blanks included.
    if (piece.token == Token::EndOfFile) begin = end = uint32_t(text_.size());
    // Text between two tokens is white space and comments, and at the front of the file a byte order mark.
    std::string_view gap = text_.substr(at_, begin - at_);
    if (at_ == 0 && gap.starts_with("\xEF\xBB\xBF")) gap.remove_prefix(3);
    unsigned breaks = takeBlanks(gap);
    if (!gap.empty() && breaks == 0 && !file_.pieces.empty()) {
      file_.pieces.back().trailing = takeComment(gap);
      breaks = takeBlanks(gap);
    }
    while (!gap.empty()) {
      const std::string_view text = takeComment(gap);
      piece.leading.push_back({text, breaks});
      breaks = takeBlanks(gap);
    }
    piece.breaks_before = breaks;
    piece.text = text_.substr(begin, end - begin);
    piece.width = widthOf(piece.text);
    at_ = end;
    file_.pieces.push_back(std::move(piece));
  }

  /// Fills Piece::partner. Brackets match, since the parser accepted the file.
  void matchBrackets() {
    std::vector<uint32_t> open;
    for (uint32_t at = 0; at < file_.pieces.size(); ++at) {
      if (file_.pieces[at].opens()) open.push_back(at);
      if (!file_.pieces[at].closes()) continue;
      assert(!open.empty() && "the parser let a bracket through that nothing opened");
      file_.pieces[at].partner = open.back();
      file_.pieces[open.back()].partner = at;
      open.pop_back();
    }
  }

  uint32_t next() const { return uint32_t(file_.pieces.size()); }

  std::string_view text_;
  const parse::Tree& tree_;
  File& file_;
  uint32_t at_ = 0;                // offset behind the last token
  Token head_ = Token::EndOfFile;  // head of the statement that is being read; EndOfFile before its first token
};

/// Whether a bracket belongs to the name before it, as in `f(x)`, and not to an operand of its own, as in `in (1, 2)`.
bool isCall(const Piece& left, const Piece& paren) {
  if (paren.rule == Rule::Arguments || left.token == Token::Absent) return true;
  return parse::isWord(left.token) && !left.begins_statement && paren.rule != Rule::Group;
}

/// Whether a colon stands close to the name before it: `criterion fits:`, `forall gpus:`, but `param gpus : int`.
bool isLabel(const Piece& colon) {
  return colon.head == Token::Criterion || colon.head == Token::Require || colon.head == Token::Exclude;
}

/// Whether a sign stands close to what follows: `-x`, `by *2`.
bool isPrefix(const Piece& piece) {
  if (piece.token == Token::Minus) return piece.rule == Rule::Unary;
  return piece.token == Token::Star && (piece.rule == Rule::RangeTail || piece.rule == Rule::Refinement);
}

/// Whether a piece behind `..` is the end of the range; an open range is followed by something else (`1.. = 64`).
bool beginsOperand(const Piece& piece) {
  using enum Token;
  return piece.token == Number || piece.token == String || piece.token == LeftParen || piece.token == Minus ||
         piece.token == True || piece.token == False || parse::isWord(piece.token) || piece.token == System;
}

}  // namespace

bool File::startsLine(uint32_t piece) const {
  return pieces[piece].breaks_before > 0 || !pieces[piece].leading.empty() ||
         (piece > 0 && pieces[piece - 1].trailing.has_value());
}

unsigned widthOf(std::string_view text) {
  return unsigned(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

File takeApart(const source::SourceManager& sources, const parse::Tree& tree) {
  File file;
  Reader(sources.text(tree.file), tree, file).read();
  return file;
}

bool beginsClause(const Piece& piece) {
  using enum Token;
  switch (piece.token) {
    case With:
      return piece.rule == Rule::CriterionDecl || piece.rule == Rule::ParamTrait;
    case Baseline:
    case When:
    case Because:
    case Always:
      return piece.rule != Rule::AnyWord && piece.rule != Rule::ParamTrait;
    case Partial:
    case Allow:
      return piece.rule == Rule::CompareDecl;
    case Noise:
      return piece.rule == Rule::ExpectedDecl;
    case From:
      return piece.head == Metric && piece.rule != Rule::AnyWord;
    default:
      return false;
  }
}

unsigned blanksBetween(const Piece& left, const Piece& right) {
  using enum Token;
  // The order matters: the rules for statements and braces come before the ones for single signs.
  if (right.begins_statement) return left.brace_of_block && left.opens() ? 1 : 2;
  if (left.token == LeftBrace || right.token == RightBrace || right.token == LeftBrace)
    return left.token == LeftParen || left.token == LeftBracket ? 0 : 1;
  if (left.opens() || right.closes() || right.token == Comma) return 0;
  if (left.token == Dot || right.token == Dot) return 0;
  if (right.token == Range) return 0;
  if (left.token == Range) return beginsOperand(right) ? 0 : 1;
  if (isPrefix(left)) return 0;
  if (right.token == LeftParen) return isCall(left, right) ? 0 : 1;
  if (right.token == LeftBracket) return right.rule == Rule::Selectors && left.token != Assign ? 0 : 1;
  if (right.token == Colon) return isLabel(right) ? 0 : 1;
  return beginsClause(right) ? 2 : 1;
}

}  // namespace expc::format
