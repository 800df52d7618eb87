// Breaks a file into lines, with their indentation. Of the author's line breaks it keeps those that carry meaning: an
// empty line, a bracket whose content begins on a line of its own together with the rows in it, and the rows of a
// design or preset. All other breaks are decided by width alone, which is what makes formatting idempotent.
//
// Each statement stands on one line if it may and fits. Otherwise it is broken in three steps, each only where the one
// before does not suffice: before clauses, `and` and `or`; before `+` and `-`; inside brackets, from the left until the
// rest fits.

#include <algorithm>
#include <vector>

#include "compiler/format/format.h"
#include "compiler/format/pieces.h"
#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::format {

using parse::Rule;
using parse::Token;

namespace {

/// Whether each statement of a block gets a line. In other blocks the author's rows stay.
bool hasStatementALine(Rule block) {
  return block == Rule::File || block == Rule::WorkloadBody || block == Rule::ServiceBody || block == Rule::StudyBody;
}

/// Answers questions about runs of pieces in constant time, from sums that are made once. The layout asks for the width
/// of nested spans again and again, which would be quadratic otherwise.
class Measure {
 public:
  explicit Measure(const File& file) {
    const std::vector<Piece>& pieces = file.pieces;
    start_.resize(pieces.size());
    stop_.resize(pieces.size());
    comments_.resize(pieces.size());
    stop_[0] = pieces[0].width;
    for (uint32_t at = 1; at < pieces.size(); ++at) {
      start_[at] = stop_[at - 1] + blanksBetween(pieces[at - 1], pieces[at]);
      stop_[at] = start_[at] + pieces[at].width;
      const bool comment = pieces[at - 1].trailing || !pieces[at].leading.empty();
      comments_[at] = comments_[at - 1] + (comment ? 1 : 0);
    }
    // From the back, so that the brackets inside a bracket are known before the bracket itself.
    open_.resize(pieces.size() + 1);
    for (uint32_t at = uint32_t(pieces.size()); at-- > 0;) {
      open_[at] = open_[at + 1];
      const Piece& piece = pieces[at];
      if (!piece.opens() || piece.brace_of_block) continue;
      const bool empty = piece.partner == at + 1;
      // A bracket must be open if one inside it is, if a comment is in it, or if the author began its content on a new
      // line.
      const bool inner = open_[at + 1] != open_[piece.partner];
      if (inner || hasComment(at, piece.partner + 1) || (!empty && file.startsLine(at + 1))) ++open_[at];
    }
  }

  /// The characters that pieces [begin, end) take on one line.
  unsigned width(uint32_t begin, uint32_t end) const { return stop_[end - 1] - start_[begin]; }
  /// Whether pieces [begin, end) may stand on one line: no comment between them, and no bracket that must stay open.
  bool mayBeFlat(uint32_t begin, uint32_t end) const { return !hasComment(begin, end) && open_[begin] == open_[end]; }
  /// Whether a bracket (no block's) must have its content on lines of its own.
  bool staysOpen(uint32_t bracket) const { return open_[bracket] != open_[bracket + 1]; }

 private:
  bool hasComment(uint32_t begin, uint32_t end) const { return comments_[end - 1] != comments_[begin]; }

  // Sums over all pieces; a difference of two entries answers for the pieces between them.
  std::vector<unsigned> start_;     // where each piece would begin if the whole file were one line
  std::vector<unsigned> stop_;      // where it would end
  std::vector<unsigned> comments_;  // places with comments up to and including each piece
  std::vector<unsigned> open_;      // brackets that stay open, from each piece to the end
};

/// Makes the lines of a file. `line_` is the line under construction; endLine() moves it to `lines_`.
class Layout {
 public:
  explicit Layout(const File& file) : file_(file), measure_(file) {}

  std::vector<Line> run() {
    statements(file_.top, 0, false);
    comments(uint32_t(file_.pieces.size() - 1), 0);
    endLine();
    return std::move(lines_);
  }

 private:
  // ---- lines

  /// Finishes the current line, if anything is on it.
  void endLine() {
    if (!line_.cells.empty() || !line_.comment.empty()) lines_.push_back(std::move(line_));
    line_ = {};
  }

  /// Finishes the current line and begins one with this indentation.
  void beginLine(unsigned indent) {
    endLine();
    line_.indent = indent;
  }

  bool atLineStart() const { return line_.cells.empty(); }

  /// Whether a comment ends this line, so that nothing can follow on it.
  bool isFull() const { return !line_.comment.empty(); }

  /// Writes the comments in front of a piece, each on a line of its own. Only the first call for a piece does anything,
  /// so every caller that might be the first may ask.
  void comments(uint32_t at, unsigned indent) {
    if (at < commented_) return;
    commented_ = at + 1;
    for (const Comment& comment : file_.pieces[at].leading) {
      beginLine(indent);
      line_.blank_before = comment.breaks_before > 1 && !after_open_;
      line_.comment = comment.text;
      after_open_ = false;
    }
  }

  /// Writes the comments in front of a piece, and begins a new line for it if the current one is full.
  void settle(uint32_t at, unsigned indent) {
    comments(at, indent);
    if (isFull()) beginLine(indent);
  }

  /// Appends a piece to the current line, or to a new one of `indent` where a comment asks for it.
  void put(uint32_t at, unsigned indent) {
    const Piece& piece = file_.pieces[at];
    settle(at, indent);
    if (atLineStart()) line_.cells.emplace_back();
    std::string& text = line_.cells.back().text;
    if (!text.empty()) text.append(blanksBetween(file_.pieces[at - 1], piece), ' ');
    text += piece.text;
    after_open_ = piece.opens();
    if (piece.trailing) line_.comment = *piece.trailing;
  }

  /// Keeps an empty line of the author's in front of the piece that begins the current line; none at the start of a
  /// block or bracket.
  void keepBlank(uint32_t at) {
    if (atLineStart() && file_.pieces[at].breaks_before > 1 && !after_open_) line_.blank_before = true;
  }

  /// The column at which a piece would begin on the current line.
  unsigned columnAfter(uint32_t at) const {
    return atLineStart() ? line_.indent : line_.width() + blanksBetween(file_.pieces[at - 1], file_.pieces[at]);
  }

  /// The text of pieces [begin, end) on one line.
  std::string flatText(uint32_t begin, uint32_t end) const {
    std::string text(file_.pieces[begin].text);
    for (uint32_t at = begin + 1; at < end; ++at) {
      text.append(blanksBetween(file_.pieces[at - 1], file_.pieces[at]), ' ');
      text += file_.pieces[at].text;
    }
    return text;
  }

  // ---- blocks and statements

  /// Whether the author wrote the whole block on one line and it may stay there.
  bool isInline(const Block& block) const {
    if (block.close == block.open + 1) return true;
    if (hasStatementALine(block.rule) || file_.startsLine(block.close)) return false;
    for (const Statement& statement : block.statements)
      if (file_.startsLine(statement.begin) || !mayBeFlat(statement)) return false;
    return true;
  }

  /// Whether a statement may stand on one line, by its comments, brackets and body. Its width is a question for fits().
  bool mayBeFlat(const Statement& statement) const {
    return measure_.mayBeFlat(statement.begin, statement.end) && (!statement.body || isInline(*statement.body));
  }

  bool fits(uint32_t begin, uint32_t end, unsigned indent) const {
    return indent + measure_.width(begin, end) <= kMaxWidth;
  }

  /// Lays out the statements of a block. Statements that the author put in one row stay in one row if they fit.
  /// `line_each` breaks all rows; it is set when a block that was on one line no longer fits there.
  void statements(const Block& block, unsigned indent, bool line_each) {
    const std::vector<Statement>& all = block.statements;
    for (size_t first = 0; first < all.size();) {
      // [first, last) is a row.
      size_t last = first + 1;
      if (!line_each && !hasStatementALine(block.rule))
        while (last < all.size() && !file_.startsLine(all[last].begin) && mayBeFlat(all[last - 1]) &&
               mayBeFlat(all[last]))
          ++last;
      if (last - first > 1 && fits(all[first].begin, all[last - 1].end, indent))
        flatLine(all[first].begin, all[last - 1].end, indent, {});
      else
        for (size_t at = first; at < last; ++at) statement(all[at], indent);
      first = last;
    }
  }

  /// Lays out one statement: on one line if it may and fits, else broken, with its body below its head.
  void statement(const Statement& statement, unsigned indent) {
    if (mayBeFlat(statement) && fits(statement.begin, statement.end, indent)) {
      flatLine(statement.begin, statement.end, indent, columnsOf(file_, statement));
      return;
    }
    comments(statement.begin, indent);
    beginLine(indent);
    keepBlank(statement.begin);
    const uint32_t end = statement.body ? statement.body->open + 1 : statement.end;
    sequence({statement.begin, end, indent, 0, true}, Breaks::Clauses);
    if (statement.body) body(*statement.body, indent);
    endLine();
  }

  /// Lays out a body with its statements indented. `{ }` stays on the line unless a comment is in it.
  void body(const Block& block, unsigned indent) {
    const bool empty = block.close == block.open + 1;
    if (!empty || isFull() || !file_.pieces[block.close].leading.empty()) {
      statements(block, indent + kIndent, isInline(block));
      comments(block.close, indent + kIndent);
      beginLine(indent);
    }
    put(block.close, indent);
  }

  /// Writes pieces [begin, end) as one line, cut into cells where its columns begin.
  void flatLine(uint32_t begin, uint32_t end, unsigned indent, const Columns& columns) {
    comments(begin, indent);
    beginLine(indent);
    keepBlank(begin);
    line_.alike = columns.alike;
    uint32_t from = begin;
    unsigned gap = 0, column = 0;
    const auto add = [&](uint32_t to) { line_.cells.push_back({flatText(from, to), gap, column}); };
    for (const ColumnStart& start : columns.starts) {
      add(start.piece);
      from = start.piece;
      gap = blanksBetween(file_.pieces[from - 1], file_.pieces[from]);
      column = start.column;
    }
    add(end);
    after_open_ = false;
    if (file_.pieces[end - 1].trailing) line_.comment = *file_.pieces[end - 1].trailing;
    endLine();
  }

  // ---- what does not fit on one line

  /// Pieces [begin, end) that continue from the current place.
  struct Span {
    uint32_t begin, end;
    unsigned indent;  // indentation of the statement or item that they are a part of
    unsigned tail;    // characters that will follow on their last line
    bool first;       // whether they begin that statement or item

    /// The indentation of a new line that begins with these pieces.
    unsigned lineIndent() const { return first ? indent : indent + kContinuation; }
  };

  /// Where a long line is broken. Clauses: before clauses, `and` and `or`, and between the items of a list without
  /// brackets. Sums: before `+` and `-`, for chunks that are too long even so.
  enum class Breaks { Clauses, Sums };

  bool mayBreakBefore(uint32_t at, Breaks breaks) const {
    const Piece& piece = file_.pieces[at];
    if (breaks == Breaks::Sums)
      return piece.rule == Rule::Sum && (piece.token == Token::Plus || piece.token == Token::Minus);
    if (file_.pieces[at - 1].token == Token::Comma) return true;
    if (piece.rule == Rule::AnyWord) return false;
    switch (piece.token) {
      case Token::And:
      case Token::Or:
      case Token::Over:
      case Token::Against:
      case Token::Until:
      case Token::Looks:
      case Token::From:
        return true;
      case Token::By:
        return piece.head == Token::Table || piece.head == Token::Plot;
      default:
        return beginsClause(piece);
    }
  }

  /// Cuts a span at the places where it may break, outside of brackets, and lays out each chunk.
  void sequence(const Span& span, Breaks breaks) {
    for (uint32_t from = span.begin; from < span.end;) {
      uint32_t to = from;
      do to = isOpenBracket(to) ? file_.pieces[to].partner + 1 : to + 1;
      while (to < span.end && !mayBreakBefore(to, breaks));
      const bool first = span.first && from == span.begin;
      chunk({from, to, span.indent, to == span.end ? span.tail : 0, first}, breaks);
      from = to;
    }
  }

  /// Lays out the pieces between two places to break at. They go on the current line if they fit, else on a new one; if
  /// that is not enough, sums are broken, then brackets opened.
  void chunk(const Span& span, Breaks breaks) {
    settle(span.begin, span.lineIndent());
    const bool flat = measure_.mayBeFlat(span.begin, span.end);
    const unsigned width = measure_.width(span.begin, span.end) + span.tail;
    if (flat && columnAfter(span.begin) + width <= kMaxWidth) return pieces(span);
    const bool fits_alone = !span.first && flat && span.lineIndent() + width <= kMaxWidth;
    if (fits_alone || (!span.first && !hasBrackets(span))) beginLine(span.lineIndent());
    if (fits_alone) return pieces(span);
    if (breaks == Breaks::Clauses) return sequence(span, Breaks::Sums);
    open(span);
  }

  /// Whether a piece is an opening bracket that is no block's.
  bool isOpenBracket(uint32_t at) const { return file_.pieces[at].opens() && !file_.pieces[at].brace_of_block; }

  bool hasBrackets(const Span& span) const {
    for (uint32_t at = span.begin; at < span.end; ++at)
      if (isOpenBracket(at)) return true;
    return false;
  }

  /// Writes pieces without a break of our own; comments between them may still break the line.
  void pieces(const Span& span) {
    for (uint32_t at = span.begin; at < span.end; ++at)
      put(at, at == span.begin ? span.lineIndent() : span.indent + kContinuation);
  }

  /// Lays out pieces that do not fit on one line: opens brackets from the left until the rest fits.
  void open(const Span& span) {
    for (uint32_t at = span.begin; at < span.end; ++at) {
      const bool first = span.first && at == span.begin;
      const Span bracketed{at, isOpenBracket(at) ? file_.pieces[at].partner + 1 : at + 1, span.indent, 0, first};
      settle(at, bracketed.lineIndent());
      if (isOpenBracket(at) && (measure_.staysOpen(at) || !fitsUpToNextBracket(at, span)))
        bracket(at, bracketed.lineIndent());
      else
        pieces(bracketed);
      at = bracketed.end - 1;
    }
  }

  /// Whether a bracket and what follows it, up to the next opening bracket, fit on the current line. The next bracket
  /// is the next place where a break can be made.
  bool fitsUpToNextBracket(uint32_t at, const Span& span) const {
    const uint32_t close = file_.pieces[at].partner;
    if (close == at + 1) return true;
    uint32_t stop = close + 1;
    while (stop < span.end && !isOpenBracket(stop)) ++stop;
    const unsigned width = measure_.width(at, std::min(stop + 1, span.end)) + (stop == span.end ? span.tail : 0);
    return columnAfter(at) + width <= kMaxWidth;
  }

  /// Lays out a bracket with its content on lines of its own. If the author began a line there, the author's rows stay;
  /// otherwise each line takes as many items as fit.
  void bracket(uint32_t at, unsigned indent) {
    const uint32_t closing = file_.pieces[at].partner;
    const bool by_author = file_.startsLine(at + 1);
    put(at, indent);
    const unsigned base = line_.indent, inner = base + kIndent;
    bool break_next = true;
    for (uint32_t begin = at + 1; begin < closing;) {
      // [begin, end) is one item with its comma.
      uint32_t end = begin;
      while (end < closing && file_.pieces[end].token != Token::Comma)
        end = file_.pieces[end].opens() ? file_.pieces[end].partner + 1 : end + 1;
      end = std::min(end + 1, closing);
      const bool flat = measure_.mayBeFlat(begin, end);
      const bool room = flat && !isFull() && columnAfter(begin) + measure_.width(begin, end) <= kMaxWidth;
      if (break_next || !room || !file_.pieces[begin].leading.empty() || (by_author && file_.startsLine(begin))) {
        comments(begin, inner);
        beginLine(inner);
        keepBlank(begin);
      }
      const size_t lines = lines_.size();
      sequence({begin, end, inner, 0, true}, Breaks::Clauses);
      break_next = lines_.size() > lines;  // nothing follows an item of several lines on its last line
      begin = end;
    }
    comments(closing, inner);
    beginLine(base);
    put(closing, base);
  }

  const File& file_;
  const Measure measure_;
  std::vector<Line> lines_;
  Line line_;
  uint32_t commented_ = 0;  // comments in front of the pieces below this index are written
  bool after_open_ = true;  // nothing was written since a bracket was opened, or at all
};

}  // namespace

std::optional<std::string> format(const source::SourceManager& sources, source::FileId file, diag::Emitter& emitter) {
  // The emitter may hold errors of other files; only new ones are about this text.
  const size_t before = emitter.errors();
  parse::Reporter reporter(sources, emitter, file);
  const parse::Tree tree = parse::parseTree(sources, file, parse::Rule::File, reporter);
  if (emitter.errors() != before) return std::nullopt;
  const File apart = takeApart(sources, tree);
  std::vector<Line> lines = Layout(apart).run();
  alignColumns(lines);
  return print(lines);
}

}  // namespace expc::format
