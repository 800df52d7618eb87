#pragma once

// A part of antlr_bridge.cpp, which alone includes it: what the generated parser tells while it runs becomes the
// concrete tree and reports of our own; errors are caught at statements.

#include <antlr4-runtime.h>

#include <algorithm>
#include <exception>

#include "compiler/parse/cst.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse::bridge {

inline Token kindOf(size_t type) { return type == antlr4::Token::EOF ? Token::EndOfFile : static_cast<Token>(type); }

inline Located located(antlr4::Token* token) {
  const uint32_t begin = static_cast<uint32_t>(token->getStartIndex());
  const bool end_of_file = token->getType() == antlr4::Token::EOF;
  return {kindOf(token->getType()), begin, end_of_file ? begin : static_cast<uint32_t>(token->getStopIndex() + 1)};
}

/// Builds the concrete tree from the parser's events.
class TreeBuilder : public antlr4::tree::ParseTreeListener {
 public:
  explicit TreeBuilder(Tree& tree) : tree_(tree) {}

  void enterEveryRule(antlr4::ParserRuleContext* context) override {
    Node node;
    node.rule = static_cast<Rule>(context->getRuleIndex());
    const Located first = located(context->start);
    node.begin = node.end = first.begin;
    node.first_token = static_cast<uint32_t>(context->start->getTokenIndex());
    open_.push_back({add(node), kNone});
  }

  void exitEveryRule(antlr4::ParserRuleContext*) override {
    const Open closed = open_.back();
    open_.pop_back();
    if (!open_.empty() && closed.last != kNone)
      tree_.nodes[open_.back().node].end = std::max(tree_.nodes[open_.back().node].end, tree_.nodes[closed.node].end);
  }

  void visitTerminal(antlr4::tree::TerminalNode* terminal) override {
    const Located place = located(terminal->getSymbol());
    Node node;
    node.is_token = true;
    node.token = place.token;
    node.begin = place.begin;
    node.end = place.end;
    node.first_token = static_cast<uint32_t>(terminal->getSymbol()->getTokenIndex());
    add(node);
    Node& parent = tree_.nodes[open_.back().node];
    parent.end = std::max(parent.end, place.end);
  }

  void visitErrorNode(antlr4::tree::ErrorNode*) override {}

  void markBroken() { tree_.nodes[open_.back().node].broken = true; }

 private:
  struct Open {
    uint32_t node;
    uint32_t last;  // the last child so far
  };

  uint32_t add(const Node& node) {
    const uint32_t index = static_cast<uint32_t>(tree_.nodes.size());
    tree_.nodes.push_back(node);
    if (!open_.empty()) {
      Open& parent = open_.back();
      (parent.last == kNone ? tree_.nodes[parent.node].child : tree_.nodes[parent.last].next) = index;
      parent.last = index;
    }
    return index;
  }

  Tree& tree_;
  std::vector<Open> open_;
};

class Strategy : public antlr4::DefaultErrorStrategy {
 public:
  /// `cursor` is told where the parser stands when it first asks for what is behind the last token; may be null.
  Strategy(const source::SourceManager& sources, Reporter& reporter, TreeBuilder& builder, Cursor* cursor)
      : sources_(sources), reporter_(reporter), builder_(builder), cursor_(cursor) {}

  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException&) override {
    atEnd(parser);
    if (!reported_) report(parser);
    reported_ = true;
  }

  /// Lets the error rise to the statement it is in, then skips what is left of that.
  void recover(antlr4::Parser* parser, std::exception_ptr error) override {
    const Rule rule = ruleOf(parser->getContext());
    builder_.markBroken();
    if (!isStatement(rule)) std::rethrow_exception(error);
    reported_ = false;
    if (isWholeFile(rule)) {
      while (parser->getCurrentToken()->getType() != antlr4::Token::EOF) parser->getTokenStream()->consume();
      return;
    }
    skip(parser, blockAround(parser->getContext()), openBrackets(parser), columnOf(parser->getContext()->start));
    atEnd(parser, false);
  }

  /// A block goes on with a statement or ends; whatever else stands there is reported and skipped.
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

  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    atEnd(parser);
    const Rule rule = ruleOf(parser->getContext());
    const Token next = lookAhead(parser);
    if (isBlock(rule) && rule != Rule::File) {
      const bool opening = parser->getContext()->start == parser->getCurrentToken();
      if (!opening) {
        // The statements are read, the brace is not there: the block is whole without it.
        antlr4::Token* open = parser->getContext()->start;
        const size_t at = parser->getCurrentToken()->getTokenIndex();
        const bool opened = located(open).token == Token::LeftBrace;  // else its absence has been reported
        if (opened && at != last_error_) reportUnclosed(reporter_, rule, located(open), situation(parser));
        last_error_ = at;
        throwIfExhausted();
        return getMissingSymbol(parser);
      }
      if (isHead(rule, next) && rule != Rule::KindBody && rule != Rule::DesignBody) {
        report(parser);
        return getMissingSymbol(parser);
      }
    }
    throw antlr4::InputMismatchException(parser);
  }

 private:
  /// Where the text ends is what follows the last token: rules that nothing was read of are left only afterwards.
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

  /// Null where there is none.
  static antlr4::Token* before(antlr4::Parser* parser, ssize_t back = 1) { return parser->getTokenStream()->LT(-back); }

  void throwIfExhausted() {
    if (reporter_.exhausted()) throw TooManyErrorsReached{};
  }

  void report(antlr4::Parser* parser) {
    last_error_ = parser->getCurrentToken()->getTokenIndex();
    if (lookAhead(parser) != Token::Unexpected) reportUnexpected(reporter_, situation(parser));
    throwIfExhausted();
  }

  Situation situation(antlr4::Parser* parser) {
    Situation out;
    for (auto* context = dynamic_cast<antlr4::RuleContext*>(parser->getContext()); context != nullptr;
         context = dynamic_cast<antlr4::RuleContext*>(context->parent))
      out.rules.push_back(ruleOf(context));
    const antlr4::misc::IntervalSet expected = parser->getExpectedTokens();
    for (ssize_t type : expected.toList()) out.expected.push_back(kindOf(static_cast<size_t>(type)));
    out.found = located(parser->getCurrentToken());
    if (antlr4::Token* previous = before(parser)) out.previous = located(previous);
    if (antlr4::Token* earlier = before(parser, 2)) out.earlier = located(earlier);
    return out;
  }

  static Rule blockAround(antlr4::RuleContext* context) {
    while (context && !isBlock(ruleOf(context))) context = dynamic_cast<antlr4::RuleContext*>(context->parent);
    return context ? ruleOf(context) : Rule::File;
  }

  /// The brackets that the statement opened before the error.
  std::vector<Token> openBrackets(antlr4::Parser* parser) {
    std::vector<Token> open;
    const size_t end = parser->getCurrentToken()->getTokenIndex();
    for (size_t at = parser->getContext()->start->getTokenIndex(); at < end; ++at)
      track(open, kindOf(parser->getTokenStream()->get(at)->getType()));
    return open;
  }

  /// False when `token` closes a bracket that is not among `open`.
  static bool track(std::vector<Token>& open, Token token) {
    if (opens(token)) open.push_back(token);
    if (token == Token::RightParen || token == Token::RightBracket) {
      const Token partner = token == Token::RightParen ? Token::LeftParen : Token::LeftBracket;
      if (!open.empty() && open.back() == partner) open.pop_back();
    }
    if (token == Token::RightBrace) {
      // A brace closes the brackets in it that were forgotten.
      auto brace = std::find(open.rbegin(), open.rend(), Token::LeftBrace);
      if (brace == open.rend()) return false;
      open.erase(brace.base() - 1, open.end());
    }
    return true;
  }

  /// Skips to where a statement of `block` can begin or the block ends. Brackets in `open` were opened before the
  /// error; a statement's head ends them, since they hold expressions. Those met on the way are skipped with what is in
  /// them.
  void skip(antlr4::Parser* parser, Rule block, std::vector<Token> open, uint32_t column) {
    const size_t opened = open.size();
    bool first = true;
    for (;; first = false) {
      const Token next = lookAhead(parser);
      if (next == Token::EndOfFile || endsBlock(block, next, lookAhead(parser, 2))) return;
      const bool outside = open.size() <= opened;
      // A word that was not understood begins no statement; a keyword may.
      if (outside && isHead(block, next) && !(first && isWord(next) && !startsLine(parser)) &&
          (open.empty() || isReserved(next) || beginsLineOf(parser, block, column)) &&
          !(before(parser) && located(before(parser)).token == Token::Dot) &&
          (!isWord(next) || startsLine(parser) || isEntry(parser, block)))
        return;
      // So does a line that stands as far left as the statement: it is reported on its own, should it be wrong.
      if (!first && outside && open.empty() && startsLine(parser) && columnOf(parser->getCurrentToken()) <= column)
        return;
      if (!track(open, next) && block != Rule::File) return;
      parser->getTokenStream()->consume();
    }
  }

  uint32_t columnOf(antlr4::Token* token) { return sources_.position(reporter_.file(), located(token).begin).column; }

  bool startsLine(antlr4::Parser* parser) {
    antlr4::Token* previous = before(parser);
    const uint32_t begin = located(parser->getCurrentToken()).begin;
    return !previous || reporter_.text(located(previous).end, begin).find('\n') != std::string_view::npos;
  }

  /// Whether a word begins a line as far left as the statement, with what only a head is followed by: a bracket that is
  /// open then was forgotten.
  bool beginsLineOf(antlr4::Parser* parser, Rule block, uint32_t column) {
    return startsLine(parser) && columnOf(parser->getCurrentToken()) <= column && isEntry(parser, block);
  }

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
  bool reported_ = false;
  size_t last_error_ = INVALID_INDEX;  // the token at which the last error was reported
};

}  // namespace expc::parse::bridge
