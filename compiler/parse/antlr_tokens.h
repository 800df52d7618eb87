#pragma once

// A part of antlr_bridge.cpp, which alone includes it: from bytes to the tokens
// that the generated parser reads.

#include <antlr4-runtime.h>

#include <algorithm>

#include "ExpLexer.h"
#include "compiler/language/words.h"
#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/contextual.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse::bridge {

EXPC_DIAGNOSTIC(UnterminatedString, Error, "this text is not closed: a '\"' is missing before the end of the line");
EXPC_DIAGNOSTIC(TooManyTokens, Error, "this file has more than {0} words and signs", size_t);
EXPC_DIAGNOSTIC(NestingTooDeep, Error, "brackets are nested more than {0} deep", size_t);

inline Token kindOf(size_t type) { return type == antlr4::Token::EOF ? Token::EndOfFile : static_cast<Token>(type); }

inline Located located(antlr4::Token* token) {
  const uint32_t begin = static_cast<uint32_t>(token->getStartIndex());
  const bool end_of_file = token->getType() == antlr4::Token::EOF;
  return {kindOf(token->getType()), begin, end_of_file ? begin : static_cast<uint32_t>(token->getStopIndex() + 1)};
}

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

/// `80GiB/gpus` is a division; only times stand below the stroke of a unit.
/// Cuts the token off there and lets the lexer go on behind it.
inline void splitNumber(std::string_view text, antlr4::Token* number, ByteStream& stream, ExpLexer& lexer) {
  const Located place = located(number);
  const std::string_view written = text.substr(place.begin, place.end - place.begin);
  const size_t stroke = written.find('/');
  if (stroke == std::string_view::npos) return;
  if (const language::Unit* below = language::findUnit(written.substr(stroke + 1)); below && below->type == "Time")
    return;
  static_cast<antlr4::CommonToken*>(number)->setStopIndex(place.begin + stroke - 1);
  stream.seek(place.begin + stroke);
  lexer.hitEOF = false;
}

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Reads all tokens: mends what the lexer cannot decide, reports what is none,
/// keeps doc comments aside, checks the limits.
class TokenReader {
 public:
  /// Reads the file's text before `end`.
  TokenReader(Reporter& reporter, Tree& tree, uint32_t end)
      : reporter_(reporter), tree_(tree), text_(reporter.text().substr(0, end)), stream_(text_), lexer_(&stream_) {
    lexer_.removeErrorListeners();
    if (text_.starts_with(kByteOrderMark)) stream_.seek(kByteOrderMark.size());
  }

  /// False when the parser must not see them.
  bool read() {
    for (;;) {
      std::unique_ptr<antlr4::Token> token = lexer_.nextToken();
      const Token kind = kindOf(token->getType());
      if (kind != Token::Unexpected) flushUnexpected();
      if (reporter_.exhausted()) return false;
      if (kind == Token::Comment) continue;
      if (kind == Token::Doc) {
        addDoc(located(token.get()));
        continue;
      }
      if (kind == Token::Unexpected) {
        addUnexpected(std::move(token));
        continue;
      }
      if (kind == Token::Number) splitNumber(text_, token.get(), stream_, lexer_);
      if (kind == Token::UnterminatedString) {
        const Located place = located(token.get());
        reporter_.emit({tree_.file, place.begin, place.end}, UnterminatedString);
        static_cast<antlr4::CommonToken&>(*token).setType(ExpLexer::STRING);
      }
      if (!withinLimits(kind, located(token.get()).begin)) return false;
      push(std::move(token));
      if (kind == Token::EndOfFile) break;
    }
    settleWords();
    return true;
  }

  std::vector<std::unique_ptr<antlr4::Token>> take() { return std::move(tokens_); }

 private:
  void push(std::unique_ptr<antlr4::Token> token) {
    if (!doc_.empty()) tree_.docs[static_cast<uint32_t>(tokens_.size())] = std::move(doc_);
    doc_.clear();
    tokens_.push_back(std::move(token));
  }

  void settleWords() {
    ContextualWords words;
    Located previous;
    for (size_t at = 0; at + 1 < tokens_.size(); ++at) {
      const Located place = located(tokens_[at].get());
      const std::string_view written = text_.substr(place.begin, place.end - place.begin);
      const Token settled = words.settle(previous.token, place.token, written, kindOf(tokens_[at + 1]->getType()));
      if (settled != place.token) static_cast<antlr4::CommonToken&>(*tokens_[at]).setType(static_cast<size_t>(settled));
      previous = located(tokens_[at].get());
    }
  }

  void addDoc(const Located& place) {
    std::string_view line = text_.substr(place.begin + 3, place.end - place.begin - 3);
    if (line.starts_with('/')) return;  // a ruler of slashes
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!doc_.empty()) doc_ += '\n';
    doc_ += line;
  }

  /// Characters that begin no token are gathered into one report. They stay in
  /// the stream, so that the parser does not take what is around them for one
  /// statement; `&&`, `||`, `!` and 'text' as what they mean, `;` and comments
  /// with
  /// `#` not at all.
  void addUnexpected(std::unique_ptr<antlr4::Token> token) {
    const Located place = located(token.get());
    const char sign = text_[place.begin];
    const size_t close = closeOf(sign, place.begin);
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

  /// Where 'text' or a comment with # ends on its line, counted from its
  /// beginning; npos for other signs.
  size_t closeOf(char sign, uint32_t begin) const {
    if (sign != '\'' && sign != '#') return std::string_view::npos;
    const std::string_view rest = text_.substr(begin);
    const std::string_view line = rest.substr(0, rest.find_first_of("\r\n"));
    return sign == '#' ? line.size() - 1 : line.find('\'', 1);
  }

  void flushUnexpected() {
    if (!unexpected_) return;
    const std::string_view written = text_.substr(unexpected_begin_, unexpected_end_ - unexpected_begin_);
    reportCharacters(reporter_, unexpected_begin_, unexpected_end_);
    auto& token = static_cast<antlr4::CommonToken&>(*unexpected_);
    token.setStopIndex(unexpected_end_ - 1);
    token.setType(written == "&&" || written == "&"                                         ? ExpLexer::AND
                  : written == "||" || written == "|"                                       ? ExpLexer::OR
                  : written == "!"                                                          ? ExpLexer::NOT
                  : written.front() == '\'' && written.back() == '\'' && written.size() > 1 ? ExpLexer::STRING
                                                                                            : ExpLexer::UNEXPECTED);
    const bool dropped = written.front() == ';' || written.front() == '#';
    if (!dropped) push(std::move(unexpected_));
    unexpected_.reset();
  }

  bool withinLimits(Token kind, uint32_t begin) {
    if (tokens_.size() >= kMaxTokens) {
      reporter_.emit({tree_.file, begin, begin}, TooManyTokens, kMaxTokens);
      return false;
    }
    if (kind == Token::LeftParen || kind == Token::LeftBracket || kind == Token::LeftBrace) ++depth_;
    if ((kind == Token::RightParen || kind == Token::RightBracket || kind == Token::RightBrace) && depth_ > 0) --depth_;
    if (depth_ > kMaxNesting) reporter_.emit({tree_.file, begin, begin + 1}, NestingTooDeep, kMaxNesting);
    return depth_ <= kMaxNesting;
  }

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

}  // namespace expc::parse::bridge
