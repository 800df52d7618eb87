#pragma once

// A part of antlr_bridge.cpp, which alone includes it: from bytes to the tokens that the generated parser reads.

#include <antlr4-runtime.h>

#include <algorithm>
#include <utility>

#include "ExpLexer.h"
#include "compiler/language/words.h"
#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/contextual.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse::bridge {

EXPC_DIAGNOSTIC(UnterminatedString, Error, "this text is not closed: a '\"' is missing before the end of the line");
EXPC_DIAGNOSTIC(TooManyTokens, Error, "this file has more than {0} words and signs");
EXPC_DIAGNOSTIC(NestingTooDeep, Error, "brackets are nested more than {0} deep");

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

/// `80GiB/gpus` is a division; only times stand below the stroke of a unit. Cuts the token off there and lets the lexer
/// go on behind it.
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

/// Reads all tokens: mends what the lexer cannot decide, reports what is none, keeps doc comments aside, checks the
/// limits.
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
    for (Token kind = Token::Unexpected; kind != Token::EndOfFile;) {
      std::unique_ptr<antlr4::Token> token = lexer_.nextToken();
      kind = kindOf(token->getType());
      if (kind == Token::Number) splitNumber(text_, token.get(), stream_, lexer_);
      const Located place = located(token.get());
      if (kind == Token::Doc) addDoc(place);
      if (kind == Token::Comment || kind == Token::Doc) continue;
      if (kind == Token::UnterminatedString) {
        reporter_.emit({tree_.file, place.begin, place.end}, UnterminatedString);
        setType(*token, Token::String);
      }
      if (kind == Token::Unexpected && !keepUnexpected(*token, place)) continue;
      if (reporter_.exhausted() || !withinLimits(kind, place.begin)) return false;
      if (!doc_.empty()) tree_.docs[static_cast<uint32_t>(tokens_.size())] = std::exchange(doc_, "");
      tokens_.push_back(std::move(token));
    }
    settle();
    return !reporter_.exhausted();
  }

  std::vector<std::unique_ptr<antlr4::Token>> take() { return std::move(tokens_); }

 private:
  static void setType(antlr4::Token& token, Token kind) {
    static_cast<antlr4::CommonToken&>(token).setType(static_cast<size_t>(kind));
  }

  void settle() {
    std::vector<Word> words;
    for (const auto& token : tokens_) {
      const Located place = located(token.get());
      words.push_back({place.token, text_.substr(place.begin, place.end - place.begin)});
    }
    settleWords(words);
    for (size_t at = 0; at < words.size(); ++at)
      if (words[at].token != Token::EndOfFile) setType(*tokens_[at], words[at].token);
  }

  void addDoc(const Located& place) {
    std::string_view line = text_.substr(place.begin + 3, place.end - place.begin - 3);
    if (line.starts_with('/')) return;  // a ruler of slashes
    if (line.starts_with(' ')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    if (!doc_.empty()) doc_ += '\n';
    doc_ += line;
  }

  /// Reports characters that begin no token. They stay in the stream, so that the parser does not take what is around
  /// them for one statement; `&&`, `||`, `!` and 'text' as what they mean. False for `;` and comments with `#`, which
  /// do not.
  bool keepUnexpected(antlr4::Token& token, const Located& place) {
    const std::string_view written = text_.substr(place.begin, place.end - place.begin);
    reportCharacters(reporter_, place.begin, place.end);
    if (written == "&&" || written == "&") setType(token, Token::And);
    if (written == "||" || written == "|") setType(token, Token::Or);
    if (written == "!") setType(token, Token::Not);
    if (written.front() == '\'' && written.size() > 1) setType(token, Token::String);
    return written.front() != ';' && written.front() != '#';
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
};

}  // namespace expc::parse::bridge
