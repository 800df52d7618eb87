#include "compiler/format/layout.h"

#include "compiler/format/columns.h"
#include "compiler/format/measure.h"
#include "compiler/format/spacing.h"

namespace expc::format {

using parse::Rule;
using parse::Token;

namespace {

/// Blocks whose statements have a line each; in others the author's rows stay.
bool hasStatementALine(Rule block) {
  return block == Rule::File || block == Rule::WorkloadBody || block == Rule::StudyBody;
}

class Layout {
 public:
  explicit Layout(const File& file) : file_(file), measure_(file) {}

  std::vector<Line> run() {
    statements(file_.top, 0, false);
    comments(static_cast<uint32_t>(file_.pieces.size() - 1), 0);
    endLine();
    return std::move(lines_);
  }

 private:
  // ---- lines

  void endLine() {
    if (!line_.cells.empty() || !line_.comment.empty()) lines_.push_back(std::move(line_));
    line_ = {};
  }

  void beginLine(unsigned indent) {
    endLine();
    line_.indent = indent;
  }

  bool atLineStart() const { return line_.cells.empty(); }

  /// A comment stands on this line: nothing can follow.
  bool isFull() const { return !line_.comment.empty(); }

  /// The comments before a piece, each on a line; once, however often it is asked for.
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

  /// Where comments before the piece ask for it, begins a new line for it.
  void settle(uint32_t at, unsigned indent) {
    comments(at, indent);
    if (isFull()) beginLine(indent);
  }

  /// Adds a piece to the line, or to a new one of `indent` where a comment asks for it.
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

  /// Keeps a blank line of the author's before the piece that begins this line.
  void keepBlank(uint32_t at) {
    if (atLineStart() && file_.pieces[at].breaks_before > 1 && !after_open_) line_.blank_before = true;
  }

  unsigned columnAfter(uint32_t at) const {
    return atLineStart() ? line_.indent : line_.width() + blanksBetween(file_.pieces[at - 1], file_.pieces[at]);
  }

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

  bool mayBeFlat(const Statement& statement) const {
    return measure_.mayBeFlat(statement.begin, statement.end) && (!statement.body || isInline(*statement.body));
  }

  bool fits(uint32_t begin, uint32_t end, unsigned indent) const {
    return indent + measure_.width(begin, end) <= kMaxWidth;
  }

  void statements(const Block& block, unsigned indent, bool line_each) {
    const std::vector<Statement>& all = block.statements;
    for (size_t first = 0; first < all.size();) {
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

  void statement(const Statement& statement, unsigned indent) {
    if (mayBeFlat(statement) && fits(statement.begin, statement.end, indent)) {
      flatLine(statement.begin, statement.end, indent, columnsOf(file_, statement));
      return;
    }
    comments(statement.begin, indent);
    beginLine(indent);
    keepBlank(statement.begin);
    sequence(statement.begin, statement.body ? statement.body->open + 1 : statement.end, indent, 0);
    if (statement.body) body(*statement.body, indent);
    endLine();
  }

  void body(const Block& block, unsigned indent) {
    const bool empty = block.close == block.open + 1;
    if (!empty || isFull() || !file_.pieces[block.close].leading.empty()) {
      statements(block, indent + kIndent, isInline(block));
      comments(block.close, indent + kIndent);
      beginLine(indent);
    }
    put(block.close, indent);
  }

  /// One line, cut into cells where its columns begin.
  void flatLine(uint32_t begin, uint32_t end, unsigned indent, const Columns& columns) {
    comments(begin, indent);
    beginLine(indent);
    keepBlank(begin);
    line_.kind = columns.kind;
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

  /// Where a long line is broken first: before clauses, `and` and `or`, and between what a list without brackets has.
  bool mayBreakBefore(uint32_t at) const {
    const Piece& piece = file_.pieces[at];
    if (file_.pieces[at - 1].token == Token::Comma) return true;
    if (piece.rule == Rule::AnyWord) return false;
    switch (piece.token) {
      case Token::And:
      case Token::Or:
      case Token::Over:
      case Token::Against:
      case Token::Until:
      case Token::From:
        return true;
      case Token::By:
        return piece.head == Token::Table || piece.head == Token::Plot;
      default:
        return beginsClause(piece);
    }
  }

  /// Pieces [begin, end) from the current place on; `tail` characters will follow them on the last line.
  void sequence(uint32_t begin, uint32_t end, unsigned indent, unsigned tail) {
    for (uint32_t from = begin; from < end;) {
      uint32_t to = from;
      do {
        const Piece& piece = file_.pieces[to];
        to = piece.opens() && !piece.brace_of_block ? piece.partner + 1 : to + 1;
      } while (to < end && !mayBreakBefore(to));
      chunk(from, to, from == begin, indent, to == end ? tail : 0);
      from = to;
    }
  }

  void chunk(uint32_t begin, uint32_t end, bool first, unsigned indent, unsigned tail) {
    const unsigned start = first ? indent : indent + kContinuation;
    settle(begin, start);
    const bool flat = measure_.mayBeFlat(begin, end);
    const unsigned width = measure_.width(begin, end) + tail;
    if (flat && columnAfter(begin) + width <= kMaxWidth) {
      pieces(begin, end, start, indent);
      return;
    }
    const bool fits_alone = flat && indent + kContinuation + width <= kMaxWidth;
    if (!first && (fits_alone || !hasBrackets(begin, end))) beginLine(indent + kContinuation);
    if (fits_alone && !first)
      pieces(begin, end, start, indent);
    else
      open(begin, end, start, indent, tail);
  }

  bool hasBrackets(uint32_t begin, uint32_t end) const {
    for (uint32_t at = begin; at < end; ++at)
      if (file_.pieces[at].opens() && !file_.pieces[at].brace_of_block) return true;
    return false;
  }

  void pieces(uint32_t begin, uint32_t end, unsigned start, unsigned indent) {
    for (uint32_t at = begin; at < end; ++at) put(at, at == begin ? start : indent + kContinuation);
  }

  /// Pieces that do not fit on one line: brackets are opened from the left until the rest fits.
  void open(uint32_t begin, uint32_t end, unsigned start, unsigned indent, unsigned tail) {
    for (uint32_t at = begin; at < end; ++at) {
      const unsigned line_indent = at == begin ? start : indent + kContinuation;
      const Piece& piece = file_.pieces[at];
      if (!piece.opens() || piece.brace_of_block) {
        put(at, line_indent);
        continue;
      }
      settle(at, line_indent);
      if (measure_.staysOpen(at) || !fitsUpToNextBracket(at, end, tail))
        bracket(at, line_indent);
      else
        pieces(at, piece.partner + 1, line_indent, indent);
      at = piece.partner;
    }
  }

  bool fitsUpToNextBracket(uint32_t at, uint32_t end, unsigned tail) const {
    const uint32_t close = file_.pieces[at].partner;
    if (close == at + 1) return true;
    uint32_t stop = close + 1;
    while (stop < end && !(file_.pieces[stop].opens() && !file_.pieces[stop].brace_of_block)) ++stop;
    const unsigned width = measure_.width(at, std::min(stop + 1, end)) + (stop == end ? tail : 0);
    return columnAfter(at) + width <= kMaxWidth;
  }

  /// A bracket with its content on lines of its own: as many items a line as the author had or as fit.
  void bracket(uint32_t at, unsigned indent) {
    const uint32_t closing = file_.pieces[at].partner;
    const bool by_author = file_.startsLine(at + 1);
    put(at, indent);
    const unsigned base = line_.indent, inner = base + kIndent;
    bool break_next = true;
    for (uint32_t begin = at + 1; begin < closing;) {
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
      sequence(begin, end, inner, 0);
      break_next = !flat;
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
  uint32_t commented_ = 0;  // comments before the pieces up to here are written
  bool after_open_ = true;  // nothing stands on the lines since a bracket was opened, or at all
};

}  // namespace

std::vector<Line> layOut(const File& file) { return Layout(file).run(); }

}  // namespace expc::format
