#pragma once

// The listener and the error strategy that the generated parser runs with; a part of antlr_bridge.cpp, which alone
// includes it. TreeBuilder turns the parser's events into the concrete tree. Strategy turns its errors into reports of
// our own and recovers at statements.
//
// Recovery: an error rises as an exception to the innermost rule that isStatement() names. That rule is marked broken,
// and input is skipped up to the next place where a statement can begin. Two clues tell this place: the heads of the
// block, and the layout, since a line that stands no further right than the broken statement is its neighbour.

#include <antlr4-runtime.h>

#include <algorithm>
#include <exception>

#include "compiler/parse/cst.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse::bridge {

/// Our token for a token type of ANTLR.
inline Token kindOf(size_t type) { return type == antlr4::Token::EOF ? Token::EndOfFile : static_cast<Token>(type); }

/// A token with its bytes. ANTLR's stop index is inclusive; the end of the file has no width.
inline Located located(antlr4::Token* token) {
  const uint32_t begin = uint32_t(token->getStartIndex());
  const bool end_of_file = token->getType() == antlr4::Token::EOF;
  return {kindOf(token->getType()), begin, end_of_file ? begin : uint32_t(token->getStopIndex() + 1)};
}

/// Builds the concrete tree from the parser's events. A parent's range grows with its children, so that rules end with
/// their last token and not with the blanks behind it.
class TreeBuilder : public antlr4::tree::ParseTreeListener {
 public:
  explicit TreeBuilder(Tree& tree) : tree_(tree) {}

  void enterEveryRule(antlr4::ParserRuleContext* context) override {
    Node node;
    node.rule = static_cast<Rule>(context->getRuleIndex());
    const Located first = located(context->start);
    node.begin = node.end = first.begin;
    node.first_token = uint32_t(context->start->getTokenIndex());
    open_.push_back({add(node), kNone});
  }

  void exitEveryRule(antlr4::ParserRuleContext*) override {
    const Open closed = open_.back();
    open_.pop_back();
    if (!open_.empty() && closed.last)
      tree_.nodes[open_.back().node].end = std::max(tree_.nodes[open_.back().node].end, tree_.nodes[closed.node].end);
  }

  void visitTerminal(antlr4::tree::TerminalNode* terminal) override {
    const Located place = located(terminal->getSymbol());
    Node node;
    node.is_token = true;
    node.token = place.token;
    node.begin = place.begin;
    node.end = place.end;
    node.first_token = uint32_t(terminal->getSymbol()->getTokenIndex());
    add(node);
    Node& parent = tree_.nodes[open_.back().node];
    parent.end = std::max(parent.end, place.end);
  }

  /// Tokens that the strategy made up or skipped are no part of the tree.
  void visitErrorNode(antlr4::tree::ErrorNode*) override {}

  /// Marks the innermost open rule: a syntax error in it was reported.
  void markBroken() { tree_.nodes[open_.back().node].broken = true; }

 private:
  /// A rule that was entered and not left.
  struct Open {
    uint32_t node;
    uint32_t last;  // its last child so far; kNone if it has none
  };

  /// Appends a node and links it as the last child of the innermost open rule.
  uint32_t add(const Node& node) {
    const uint32_t index = uint32_t(tree_.nodes.size());
    tree_.nodes.push_back(node);
    if (!open_.empty()) {
      Open& parent = open_.back();
      (parent.last ? tree_.nodes[parent.last].next : tree_.nodes[parent.node].child) = index;
      parent.last = index;
    }
    return index;
  }

  Tree& tree_;
  std::vector<Open> open_;
};

/// The generated parser's reaction to errors. ANTLR calls reportError and recover when a rule catches an exception,
/// sync before each decision of a loop, and recoverInline where one certain token is missing.
class Strategy : public antlr4::DefaultErrorStrategy {
 public:
  /// `cursor` receives where the parser stands when it first asks for a token behind the last one; may be null.
  Strategy(const source::SourceManager& sources, Reporter& reporter, TreeBuilder& builder, Cursor* cursor)
      : sources_(sources), reporter_(reporter), builder_(builder), cursor_(cursor) {}

  // ANTLR's recovery mode would swallow the errors after the first; `reported_` does that per statement instead.
  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}

  /// Reports an error once, in the innermost rule; while it rises to its statement, outer rules stay silent.
  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException&) override {
    atEnd(parser);
    if (!reported_) report(parser);
    reported_ = true;
  }

  /// Lets the error rise to the statement that it is in, then skips the rest of that statement.
  void recover(antlr4::Parser* parser, std::exception_ptr error) override {
    const Rule rule = ruleOf(parser->getContext());
    builder_.markBroken();
    if (!isStatement(rule)) std::rethrow_exception(error);
    reported_ = false;
    // The command line's rules, and an error that no statement of a file caught: nothing can be resumed.
    if (isWholeFile(rule)) {
      while (parser->getCurrentToken()->getType() != antlr4::Token::EOF) parser->getTokenStream()->consume();
      return;
    }
    skip(parser, blockAround(parser->getContext()), openBrackets(parser), columnOf(parser->getContext()->start));
    atEnd(parser, false);
  }

  /// Called before each statement of a block: returns if one begins here or the block ends; reports and skips anything
  /// else.
  void sync(antlr4::Parser* parser) override {
    atEnd(parser);
    const Rule block = ruleOf(parser->getContext());
    if (!isBlock(block)) return;
    for (;;) {
      const Token next = lookAhead(parser);
      if (next == Token::EndOfFile || isHead(block, next) || endsBlock(block, next, lookAhead(parser, 2))) return;
      if (next == Token::RightBrace && block != Rule::File) return;
      const uint32_t column = columnOf(parser->getCurrentToken());
      if (next != Token::Unexpected) reportNoStatement(reporter_, block, situation(parser));
      throwIfExhausted();
      skip(parser, block, {}, column);
      atEnd(parser, false);
    }
  }

  /// Called where one certain token is missing. Braces of a block are made up where the statements can still be read: a
  /// missing closing brace when they are all read, a missing opening one when a statement follows. Anything else is an
  /// error of the statement.
  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    atEnd(parser);
    const Rule rule = ruleOf(parser->getContext());
    const Token next = lookAhead(parser);
    if (isBlock(rule) && rule != Rule::File) {
      const bool opening = parser->getContext()->start == parser->getCurrentToken();
      if (!opening) {
        // The statements are read, the brace is missing: the block is complete without it.
        antlr4::Token* open = parser->getContext()->start;
        const size_t at = parser->getCurrentToken()->getTokenIndex();
        const bool opened = located(open).token == Token::LeftBrace;  // otherwise its absence was reported
        if (opened && at != last_error_) reportUnclosed(reporter_, rule, located(open), situation(parser));
        last_error_ = at;
        throwIfExhausted();
        return getMissingSymbol(parser);
      }
      // Entries of designs and kinds of trials begin with any name, so there a head does not show that only the brace
      // is missing. `command` and `timeout` stand in front of the brace as well.
      const bool clause = next == Token::Command || next == Token::Timeout;
      if (isHead(rule, next) && rule != Rule::KindBody && rule != Rule::DesignBody && !clause) {
        report(parser);
        return getMissingSymbol(parser);
      }
    }
    throw antlr4::InputMismatchException(parser);
  }

 private:
  /// Records the cursor when the next token is the end of the text, the first time only: later calls come from rules
  /// that were left without reading anything. `understood` is false behind a broken statement, where nothing is known
  /// of what may follow.
  void atEnd(antlr4::Parser* parser, bool understood = true) {
    if (!cursor_ || !cursor_->rules.empty() || lookAhead(parser) != Token::EndOfFile) return;
    for (auto* context = parser->getContext(); context != nullptr;
         context = dynamic_cast<antlr4::ParserRuleContext*>(context->parent))
      cursor_->rules.push_back({ruleOf(context), located(context->start).begin});
    if (understood) cursor_->expected = situation(parser).expected;
  }

  static Rule ruleOf(antlr4::RuleContext* context) { return static_cast<Rule>(context->getRuleIndex()); }
  static Token lookAhead(antlr4::Parser* parser, ssize_t ahead = 1) {
    return kindOf(parser->getTokenStream()->LA(ahead));
  }

  /// The token `back` places before the current one; null if there is none.
  static antlr4::Token* before(antlr4::Parser* parser, ssize_t back = 1) { return parser->getTokenStream()->LT(-back); }

  void throwIfExhausted() {
    if (reporter_.exhausted()) throw TooManyErrorsReached{};
  }

  /// Reports that the current token does not fit. Characters that begin no token were reported by the token reader.
  void report(antlr4::Parser* parser) {
    last_error_ = parser->getCurrentToken()->getTokenIndex();
    if (lookAhead(parser) != Token::Unexpected) reportUnexpected(reporter_, situation(parser));
    throwIfExhausted();
  }

  /// Where the parser stands, in our own terms, for the wording of a message.
  Situation situation(antlr4::Parser* parser) {
    Situation out;
    for (auto* context = dynamic_cast<antlr4::RuleContext*>(parser->getContext()); context != nullptr;
         context = dynamic_cast<antlr4::RuleContext*>(context->parent))
      out.rules.push_back(ruleOf(context));
    const antlr4::misc::IntervalSet expected = parser->getExpectedTokens();
    for (ssize_t type : expected.toList()) out.expected.push_back(kindOf(size_t(type)));
    out.found = located(parser->getCurrentToken());
    if (antlr4::Token* previous = before(parser)) out.previous = located(previous);
    if (antlr4::Token* earlier = before(parser, 2)) out.earlier = located(earlier);
    return out;
  }

  /// The innermost block that holds a rule; the file if there is none.
  static Rule blockAround(antlr4::RuleContext* context) {
    while (context && !isBlock(ruleOf(context))) context = dynamic_cast<antlr4::RuleContext*>(context->parent);
    return context ? ruleOf(context) : Rule::File;
  }

  /// The brackets that the current statement opened before the error and did not close.
  std::vector<Token> openBrackets(antlr4::Parser* parser) {
    std::vector<Token> open;
    const size_t end = parser->getCurrentToken()->getTokenIndex();
    for (size_t at = parser->getContext()->start->getTokenIndex(); at < end; ++at)
      track(open, kindOf(parser->getTokenStream()->get(at)->getType()));
    return open;
  }

  /// Updates the stack of open brackets. False if `token` is a closing brace that matches none of `open`: it closes the
  /// block itself.
  static bool track(std::vector<Token>& open, Token token) {
    if (opens(token)) open.push_back(token);
    if (token == Token::RightParen || token == Token::RightBracket) {
      const Token partner = token == Token::RightParen ? Token::LeftParen : Token::LeftBracket;
      if (!open.empty() && open.back() == partner) open.pop_back();
    }
    if (token == Token::RightBrace) {
      // A brace also closes brackets inside it that were forgotten.
      auto brace = std::find(open.rbegin(), open.rend(), Token::LeftBrace);
      if (brace == open.rend()) return false;
      open.erase(brace.base() - 1, open.end());
    }
    return true;
  }

  /// Skips to where a statement of `block` can begin or the block ends. `open` holds the brackets that were opened
  /// before the error; `column` is where the broken statement began.
  ///
  /// Brackets hold expressions, so a statement's head ends those in `open`, which were probably forgotten. Brackets
  /// that are met on the way are skipped with their content.
  void skip(antlr4::Parser* parser, Rule block, std::vector<Token> open, uint32_t column) {
    const size_t opened = open.size();
    bool first = true;
    for (;; first = false) {
      const Token next = lookAhead(parser);
      if (next == Token::EndOfFile || endsBlock(block, next, lookAhead(parser, 2))) return;
      // Outside of brackets that were met on the way.
      const bool outside = open.size() <= opened;
      // A head word resumes parsing, with four exceptions. The first token of the skipped part is what was not
      // understood, so a word there begins a statement only on a line of its own. In an open bracket a word that may be
      // a name is one. Behind a dot any word is a part of a name. And a name begins an entry only on a new line or
      // before a sign that entries have.
      if (outside && isHead(block, next) && !(first && isWord(next) && !startsLine(parser)) &&
          (open.empty() || isReserved(next) || beginsLineOf(parser, block, column)) &&
          !(before(parser) && located(before(parser)).token == Token::Dot) &&
          (!isWord(next) || startsLine(parser) || isEntry(parser, block)))
        return;
      // A line that stands as far left as the broken statement begins a statement too; if it is wrong, it gets its own
      // error.
      if (!first && outside && open.empty() && startsLine(parser) && columnOf(parser->getCurrentToken()) <= column)
        return;
      if (!track(open, next) && block != Rule::File) return;
      parser->getTokenStream()->consume();
    }
  }

  uint32_t columnOf(antlr4::Token* token) { return sources_.position(reporter_.file(), located(token).begin).column; }

  /// Whether a line end stands between the previous token and the current one.
  bool startsLine(antlr4::Parser* parser) {
    antlr4::Token* previous = before(parser);
    const uint32_t begin = located(parser->getCurrentToken()).begin;
    return !previous || reporter_.text(located(previous).end, begin).find('\n') != std::string_view::npos;
  }

  /// Whether the current word begins a line no further right than the broken statement and is followed by the sign of
  /// an entry. A bracket that is open there was forgotten.
  bool beginsLineOf(antlr4::Parser* parser, Rule block, uint32_t column) {
    return startsLine(parser) && columnOf(parser->getCurrentToken()) <= column && isEntry(parser, block);
  }

  /// Whether the token behind the current word is the sign of an entry of this block: `=`, `:`, or a setting's brace or
  /// number.
  bool isEntry(antlr4::Parser* parser, Rule block) {
    const Token after = lookAhead(parser, 2);
    if (block == Rule::PresetBody || block == Rule::SystemBody) return after == Token::Assign;
    if (block == Rule::ReferenceBody) return after == Token::Colon;
    return after == Token::LeftBrace || after == Token::Number;
  }

  const source::SourceManager& sources_;
  Reporter& reporter_;
  TreeBuilder& builder_;
  Cursor* cursor_;
  // Whether the error that is rising to its statement was reported.
  bool reported_ = false;
  // The token at which the last error was reported; a missing brace at the same token is a consequence.
  size_t last_error_ = INVALID_INDEX;
};

}  // namespace expc::parse::bridge
