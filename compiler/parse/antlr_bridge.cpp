// The only file of ours that sees ANTLR. It reads the tokens, checks the limits before the generated parser recurses, and turns
// the parser's events into the tree of cst.h. Its error strategy reports through syntax_errors.h and recovers at statements.

#include "compiler/parse/antlr_bridge.h"

#include <antlr4-runtime.h>

#include <algorithm>

#include "ExpLexer.h"
#include "ExpParser.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse {

namespace {

#define X(name) static_assert(static_cast<size_t>(Rule::name) == ExpParser::Rule##name, "cst.h and ExpParser.g4 differ");
EXPC_PARSE_RULES(X)
#undef X
#define X(name, token, text) static_assert(static_cast<size_t>(Token::name) == ExpLexer::token, "cst.h and ExpLexer.g4 differ");
EXPC_PARSE_TOKENS(X)
#undef X

Token kindOf(size_t type) { return type == antlr4::Token::EOF ? Token::EndOfFile : static_cast<Token>(type); }

Located located(antlr4::Token* token) {
  const uint32_t begin = static_cast<uint32_t>(token->getStartIndex());
  const bool end_of_file = token->getType() == antlr4::Token::EOF;
  return {kindOf(token->getType()), begin, end_of_file ? begin : static_cast<uint32_t>(token->getStopIndex() + 1)};
}

// ---- tokens -------------------------------------------------------------------------------------------------------------

/// A file's bytes, one character each: every index is a byte offset.
class ByteStream : public antlr4::CharStream {
 public:
  explicit ByteStream(std::string_view text) : text_(text) {}
  void consume() override { ++at_; }
  size_t LA(ssize_t ahead) override {
    const ssize_t index = static_cast<ssize_t>(at_) + (ahead > 0 ? ahead - 1 : ahead);
    if (ahead == 0 || index < 0 || index >= static_cast<ssize_t>(text_.size())) return antlr4::IntStream::EOF;
    return static_cast<unsigned char>(text_[index]);
  }
  ssize_t mark() override { return -1; }
  void release(ssize_t) override {}
  size_t index() override { return at_; }
  void seek(size_t index) override { at_ = index; }
  size_t size() override { return text_.size(); }
  std::string getSourceName() const override { return "input"; }
  std::string getText(const antlr4::misc::Interval& interval) override {
    const size_t begin = std::min<size_t>(std::max<ssize_t>(interval.a, 0), text_.size());
    const size_t end = std::min<size_t>(std::max<ssize_t>(interval.b + 1, begin), text_.size());
    return std::string(text_.substr(begin, end - begin));
  }
  std::string toString() const override { return std::string(text_); }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

/// Reads all tokens: mends what the lexer cannot decide, reports what is none, keeps doc comments aside, checks the limits.
class TokenReader {
 public:
  TokenReader(const source::SourceManager& sources, Reporter& reporter, Tree& tree)
      : sources_(sources), reporter_(reporter), tree_(tree), text_(sources.text(tree.file)), stream_(text_), lexer_(&stream_) {
    lexer_.removeErrorListeners();
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") stream_.seek(3);
  }

  /// False when the parser must not see them.
  bool read() {
    for (;;) {
      std::unique_ptr<antlr4::Token> token = lexer_.nextToken();
      const Token kind = kindOf(token->getType());
      if (kind != Token::Unexpected) flushUnexpected();
      if (reporter_.exhausted()) return false;
      if (kind == Token::Doc) {
        addDoc(located(token.get()));
        continue;
      }
      if (kind == Token::Unexpected) {
        addUnexpected(std::move(token));
        continue;
      }
      if (kind == Token::Number) splitNumber(static_cast<antlr4::CommonToken&>(*token));
      if (kind == Token::UnterminatedString) {
        const Located place = located(token.get());
        reportUnterminated(reporter_, place.begin, place.end);
        static_cast<antlr4::CommonToken&>(*token).setType(ExpLexer::STRING);
      }
      if (!withinLimits(kind, located(token.get()).begin)) return false;
      push(std::move(token));
      if (kind == Token::EndOfFile) return true;
    }
  }

  std::vector<std::unique_ptr<antlr4::Token>> take() { return std::move(tokens_); }

 private:
  void push(std::unique_ptr<antlr4::Token> token) {
    if (!doc_.empty()) tree_.docs[static_cast<uint32_t>(tokens_.size())] = std::move(doc_);
    doc_.clear();
    tokens_.push_back(std::move(token));
  }

  void addDoc(const Located& place) {
    std::string_view line = text_.substr(place.begin + 3, place.end - place.begin - 3);
    if (line.starts_with('/')) return;  // a ruler of slashes
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!doc_.empty()) doc_ += '\n';
    doc_ += line;
  }

  /// `80GiB/gpus` is a division; only times stand below the stroke of a unit.
  void splitNumber(antlr4::CommonToken& token) {
    static constexpr std::string_view kTimes[] = {"ns", "us", "ms", "s", "min", "h", "d"};
    const Located place = located(&token);
    const std::string_view written = text_.substr(place.begin, place.end - place.begin);
    const size_t stroke = written.find('/');
    if (stroke == std::string_view::npos) return;
    if (std::find(std::begin(kTimes), std::end(kTimes), written.substr(stroke + 1)) != std::end(kTimes)) return;
    token.setStopIndex(place.begin + stroke - 1);
    stream_.seek(place.begin + stroke);
    lexer_.hitEOF = false;
  }

  /// Characters that begin no token are gathered into one report. They stay in the stream, so that the parser does not take what
  /// is around them for one statement; `&&`, `||`, `!` and 'text' as what they mean, `;` and comments with `#` not at all.
  void addUnexpected(std::unique_ptr<antlr4::Token> token) {
    const Located place = located(token.get());
    const char sign = text_[place.begin];
    const std::string_view rest = text_.substr(place.begin, text_.substr(place.begin).find_first_of("\r\n"));
    const size_t close = sign == '\'' ? rest.find('\'', 1) : sign == '#' ? rest.size() - 1 : std::string_view::npos;
    const bool alone = sign == ';' || close != std::string_view::npos;
    if (alone || !unexpected_ || unexpected_end_ != place.begin) {
      flushUnexpected();
      unexpected_ = std::move(token);
      unexpected_begin_ = place.begin;
    }
    unexpected_end_ = place.end;
    if (!alone) return;
    if (close != std::string_view::npos) {
      unexpected_end_ = static_cast<uint32_t>(place.begin + close + 1);
      stream_.seek(unexpected_end_);
    }
    flushUnexpected();
  }

  void flushUnexpected() {
    if (!unexpected_) return;
    const std::string_view written = text_.substr(unexpected_begin_, unexpected_end_ - unexpected_begin_);
    reportCharacters(sources_, reporter_, unexpected_begin_, unexpected_end_);
    auto& token = static_cast<antlr4::CommonToken&>(*unexpected_);
    token.setStopIndex(unexpected_end_ - 1);
    token.setType(written == "&&" || written == "&"                  ? ExpLexer::AND
                  : written == "||" || written == "|"                ? ExpLexer::OR
                  : written == "!"                                   ? ExpLexer::NOT
                  : written.front() == '\'' && written.back() == '\'' && written.size() > 1 ? ExpLexer::STRING
                                                                     : ExpLexer::UNEXPECTED);
    const bool dropped = written.front() == ';' || written.front() == '#';
    if (!dropped) push(std::move(unexpected_));
    unexpected_.reset();
  }

  bool withinLimits(Token kind, uint32_t begin) {
    if (tokens_.size() >= kMaxTokens) {
      reportTooManyTokens(reporter_, begin, kMaxTokens);
      return false;
    }
    if (kind == Token::LeftParen || kind == Token::LeftBracket || kind == Token::LeftBrace) ++depth_;
    if ((kind == Token::RightParen || kind == Token::RightBracket || kind == Token::RightBrace) && depth_ > 0) --depth_;
    if (depth_ <= kMaxNesting) return true;
    reportNestingTooDeep(reporter_, begin, kMaxNesting);
    return false;
  }

  const source::SourceManager& sources_;
  Reporter& reporter_;
  Tree& tree_;
  std::string_view text_;
  ByteStream stream_;
  ExpLexer lexer_;
  std::vector<std::unique_ptr<antlr4::Token>> tokens_;
  std::string doc_;
  size_t depth_ = 0;
  std::unique_ptr<antlr4::Token> unexpected_;
  uint32_t unexpected_begin_ = 0, unexpected_end_ = 0;
};

// ---- the tree -----------------------------------------------------------------------------------------------------------

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

// ---- errors -------------------------------------------------------------------------------------------------------------

bool isBlock(Rule rule) {
  return rule == Rule::File || rule == Rule::WorkloadBody || rule == Rule::StudyBody || rule == Rule::PresetBody ||
         rule == Rule::DesignBody || rule == Rule::KindBody;
}

/// The rules that catch an error inside them, so that the next statement is read again.
bool isStatement(Rule rule) {
  switch (rule) {
    case Rule::File:
    case Rule::ValueFile:
    case Rule::Declaration:
    case Rule::WorkloadItem:
    case Rule::StudyItem:
    case Rule::DesignItem:
    case Rule::Setting:
    case Rule::PresetItem: return true;
    default: return false;
  }
}

/// The words that begin a statement of a block.
const std::vector<Token>& headsOf(Rule block) {
  static const std::vector<Token> file = {Token::Import, Token::Ordered, Token::Enum, Token::Let, Token::Workload, Token::Study};
  static const std::vector<Token> workload = {Token::Version, Token::Param, Token::Metric, Token::Require, Token::Exclude};
  static const std::vector<Token> study = {Token::Workload, Token::Factor,  Token::Let,       Token::Require, Token::Exclude,
                                           Token::Measure,  Token::Metric,  Token::Compare,   Token::Criterion,
                                           Token::Design,   Token::Table,   Token::Plot,      Token::Preset};
  static const std::vector<Token> words = {Token::Identifier, Token::As, Token::Ordered, Token::Version, Token::Confidence};
  static const std::vector<Token> preset = {Token::Only,       Token::Remove, Token::Criterion, Token::Design,    Token::Identifier,
                                            Token::As,         Token::Ordered, Token::Version,  Token::Confidence};
  switch (block) {
    case Rule::WorkloadBody: return workload;
    case Rule::StudyBody: return study;
    case Rule::PresetBody: return preset;
    case Rule::DesignBody:
    case Rule::KindBody: return words;
    default: return file;
  }
}

bool isHead(Rule block, Token token) {
  const std::vector<Token>& heads = headsOf(block);
  return std::find(heads.begin(), heads.end(), token) != heads.end();
}

/// Words that show that a block's brace is missing: nothing in it can begin with them.
bool endsBlock(Rule block, Token token) {
  if (block == Rule::File) return false;
  if (token == Token::Study || token == Token::Enum || token == Token::Import) return true;
  const bool design = block == Rule::DesignBody || block == Rule::KindBody;
  return design && isReserved(token) && token <= Token::Remove;
}

class Strategy : public antlr4::DefaultErrorStrategy {
 public:
  Strategy(const source::SourceManager& sources, Reporter& reporter, TreeBuilder& builder)
      : sources_(sources), reporter_(reporter), builder_(builder) {}

  bool inErrorRecoveryMode(antlr4::Parser*) override { return false; }
  void reportMatch(antlr4::Parser*) override {}

  void reportError(antlr4::Parser* parser, const antlr4::RecognitionException&) override {
    if (!reported_) report(parser);
    reported_ = true;
  }

  /// Lets the error rise to the statement it is in, then skips what is left of that.
  void recover(antlr4::Parser* parser, std::exception_ptr error) override {
    const Rule rule = ruleOf(parser->getContext());
    builder_.markBroken();
    if (!isStatement(rule)) std::rethrow_exception(error);
    reported_ = false;
    if (rule == Rule::File || rule == Rule::ValueFile) {
      while (parser->getCurrentToken()->getType() != antlr4::Token::EOF) parser->getTokenStream()->consume();
      return;
    }
    skip(parser, blockAround(parser->getContext()), openBrackets(parser), columnOf(parser->getContext()->start));
  }

  /// A block goes on with a statement or ends; whatever else stands there is reported and skipped.
  void sync(antlr4::Parser* parser) override {
    const Rule block = ruleOf(parser->getContext());
    if (!isBlock(block)) return;
    for (;;) {
      const Token next = lookAhead(parser);
      if (next == Token::EndOfFile || isHead(block, next) || endsBlock(block, next)) return;
      if (next == Token::RightBrace && block != Rule::File) return;
      const uint32_t column = columnOf(parser->getCurrentToken());
      if (next != Token::Unexpected)
        reportNoStatement(sources_, reporter_, block, located(parser->getCurrentToken()), headsOf(block));
      throwIfExhausted();
      skip(parser, block, {}, column);
    }
  }

  antlr4::Token* recoverInline(antlr4::Parser* parser) override {
    const Rule rule = ruleOf(parser->getContext());
    const Token next = lookAhead(parser);
    if (isBlock(rule) && rule != Rule::File) {
      const bool opening = parser->getContext()->start == parser->getCurrentToken();
      if (!opening) {
        // The statements are read, the brace is not there: the block is whole without it.
        antlr4::Token* open = parser->getContext()->start;
        const size_t at = parser->getCurrentToken()->getTokenIndex();
        if (at != last_error_) reportUnclosed(sources_, reporter_, rule, located(open), situation(parser));
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
  static Rule ruleOf(antlr4::RuleContext* context) { return static_cast<Rule>(context->getRuleIndex()); }
  static Token lookAhead(antlr4::Parser* parser) { return kindOf(parser->getTokenStream()->LA(1)); }

  void throwIfExhausted() {
    if (reporter_.exhausted()) throw TooManyErrorsReached{};
  }

  void report(antlr4::Parser* parser) {
    last_error_ = parser->getCurrentToken()->getTokenIndex();
    if (lookAhead(parser) != Token::Unexpected) reportUnexpected(sources_, reporter_, situation(parser));
    throwIfExhausted();
  }

  Situation situation(antlr4::Parser* parser) {
    Situation out;
    for (auto* context = dynamic_cast<antlr4::RuleContext*>(parser->getContext()); context != nullptr;
         context = dynamic_cast<antlr4::RuleContext*>(context->parent))
      out.rules.push_back(ruleOf(context));
    const antlr4::misc::IntervalSet expected = parser->getExpectedTokens();
    for (ssize_t type : expected.toList()) out.expected.push_back(kindOf(static_cast<size_t>(type)));
    antlr4::Token* found = parser->getCurrentToken();
    out.found = located(found);
    if (found->getTokenIndex() > 0 && found->getTokenIndex() != INVALID_INDEX) {
      out.has_previous = true;
      out.previous = located(parser->getTokenStream()->get(found->getTokenIndex() - 1));
    }
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
    if (token == Token::LeftParen || token == Token::LeftBracket || token == Token::LeftBrace) open.push_back(token);
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

  /// Skips to where a statement of `block` can begin or the block ends. Brackets in `open` were opened before the error; a
  /// statement's head ends them, since they hold expressions. Those met on the way are skipped with what is in them.
  void skip(antlr4::Parser* parser, Rule block, std::vector<Token> open, uint32_t column) {
    const size_t before = open.size();
    bool first = true;
    for (;; first = false) {
      const Token next = lookAhead(parser);
      if (next == Token::EndOfFile || endsBlock(block, next)) return;
      const bool outside = open.size() <= before;
      // A word that was not understood begins no statement; a keyword may.
      if (outside && isHead(block, next) && !(first && isWord(next) && next != Token::Ordered) &&
          (open.empty() || isReserved(next)) && !afterDot(parser) && (!isWord(next) || beginsItem(parser, block)))
        return;
      // So does a line that stands as far left as the statement: it is reported on its own, should it be wrong.
      if (!first && outside && open.empty() && columnOf(parser->getCurrentToken()) <= column && startsLine(parser)) return;
      if (!track(open, next) && block != Rule::File) return;
      parser->getTokenStream()->consume();
    }
  }

  uint32_t columnOf(antlr4::Token* token) { return sources_.position(reporter_.file(), located(token).begin).column; }

  bool startsLine(antlr4::Parser* parser) {
    antlr4::Token* token = parser->getCurrentToken();
    if (token->getTokenIndex() == 0) return true;
    const uint32_t end = located(parser->getTokenStream()->get(token->getTokenIndex() - 1)).end;
    return sources_.text({reporter_.file(), end, located(token).begin}).find('\n') != std::string_view::npos;
  }

  /// Whether a word is the head of an assignment or a setting rather than a part of what is skipped.
  bool beginsItem(antlr4::Parser* parser, Rule block) {
    if (startsLine(parser)) return true;
    const Token after = kindOf(parser->getTokenStream()->LA(2));
    if (block == Rule::PresetBody) return after == Token::Assign;
    return after == Token::LeftBrace || after == Token::Number;
  }

  static bool afterDot(antlr4::Parser* parser) {
    const size_t at = parser->getCurrentToken()->getTokenIndex();
    return at > 0 && kindOf(parser->getTokenStream()->get(at - 1)->getType()) == Token::Dot;
  }

  const source::SourceManager& sources_;
  Reporter& reporter_;
  TreeBuilder& builder_;
  bool reported_ = false;
  size_t last_error_ = INVALID_INDEX;  // the token at which the last error was reported
};

}  // namespace

Tree parseTree(const source::SourceManager& sources, source::FileId file, Rule start, Reporter& reporter) {
  Tree tree;
  tree.file = file;
  TokenReader reader(sources, reporter, tree);
  if (!reader.read()) return tree;

  antlr4::ListTokenSource source(reader.take());
  antlr4::CommonTokenStream tokens(&source);
  ExpParser parser(&tokens);
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.removeErrorListeners();
  parser.setBuildParseTree(false);
  TreeBuilder builder(tree);
  parser.addParseListener(&builder);
  parser.setErrorHandler(std::make_shared<Strategy>(sources, reporter, builder));
  try {
    if (start == Rule::ValueFile)
      parser.valueFile();
    else
      parser.file();
  } catch (const TooManyErrorsReached&) {
    tree.nodes.clear();  // rules were left half-way
  }
  return tree;
}

}  // namespace expc::parse
