#include "compiler/lsp/context.h"

#include "compiler/parse/blocks.h"

namespace expc::lsp {
namespace {

using parse::LexedToken;
using parse::Rule;
using parse::Token;

/// A brace that holds statements, or any other bracket.
struct Frame {
  bool block = false;
  Rule rule = Rule::File;
  bool is_enum = false, is_system = false, is_reference = false;
  std::vector<LexedToken> statement;  // what was before it in the block around
  unsigned brackets = 0;
};

class Scanner {
 public:
  Scanner(const source::SourceManager& sources, uint32_t offset) : sources_(sources), offset_(offset) {}

  Context scan(const std::vector<LexedToken>& tokens) {
    for (const LexedToken& token : tokens) {
      if (token.kind == Token::EndOfFile || token.range.begin >= offset_) break;
      const bool touches = token.range.end >= offset_;
      const bool within = token.range.end > offset_;
      // A comment and a text that is not closed reach to the end of their line.
      if (token.isComment()) {
        if (touches) context_.inside = Context::Inside::Comment;
        newLine(token);
        continue;
      }
      const bool text = token.kind == Token::String || token.kind == Token::UnterminatedString;
      if (text && (within || (touches && token.kind == Token::UnterminatedString)))
        context_.inside = Context::Inside::Text;
      newLine(token);
      const bool letters = parse::isWord(token.kind) || parse::isReserved(token.kind) || token.kind == Token::Number;
      if (touches && letters) {
        context_.word = {token.range.file, token.range.begin, offset_};
        break;
      }
      if (context_.inside == Context::Inside::Text) break;
      take(token);
      line_empty_ = false;
    }
    if (!context_.word.isValid()) {
      const source::FileId file = tokens.empty() ? source::FileId{0} : tokens.back().range.file;
      context_.word = {file, offset_, offset_};
      const std::string_view before = sources_.text(source::Range{file, 0, offset_});
      const size_t line = before.find_last_of("\r\n");
      const std::string_view rest = before.substr(line == std::string_view::npos ? 0 : line + 1);
      line_empty_ = rest.find_first_not_of(" \t") == std::string_view::npos;
    }
    context_.statement = std::move(statement_);
    context_.line_start = line_empty_;
    context_.brackets = brackets_;
    if (!frames_.empty()) {
      context_.block = block().rule;
      context_.in_enum = block().is_enum;
      context_.in_system = block().is_system;
      context_.in_reference = block().is_reference;
    }
    return std::move(context_);
  }

 private:
  void newLine(const LexedToken& token) {
    if (token.lines_before > 0) line_empty_ = true;
  }

  std::string_view text(const LexedToken& token) const { return sources_.text(token.range); }
  const Frame& block() const { return frames_.back(); }
  Rule rule() const { return frames_.empty() ? Rule::File : block().rule; }

  /// Whether the word begins a statement of the block.
  bool begins(const LexedToken& token) const {
    if (!frames_.empty() && (block().is_enum || block().is_system || block().is_reference)) return false;
    const bool fresh_line = line_empty_;
    if (parse::isReserved(token.kind)) {
      if (token.kind == Token::Criterion && !statement_.empty() && statement_.back().kind == Token::Remove)
        return false;
      // The factor that several workloads make is called by their word.
      if (token.kind == Token::Workload && !fresh_line && !statement_.empty()) {
        const Token last = statement_.back().kind;
        if (brackets_ > 0 || last == Token::Over || last == Token::By || last == Token::ForAll ||
            last == Token::Exists || last == Token::Only || last == Token::Comma)
          return false;
      }
      // In a half-written list a head goes on only on the same line.
      return parse::isHead(rule(), token.kind) && (brackets_ == 0 || fresh_line);
    }
    if (brackets_ > 0) return false;
    const std::string_view word = text(token);
    if (rule() == Rule::DesignBody || rule() == Rule::KindBody) {
      if (!statement_.empty() && text(statement_.back()) == "order") return false;
      static constexpr std::string_view kSettings[] = {"repeat", "steps",  "warmup", "epochs",  "order",
                                                       "seed",   "budget", "timed",  "quality", "profile"};
      for (const std::string_view setting : kSettings)
        if (word == setting) return true;
      return statement_.empty();
    }
    // An assignment has no head: it begins where a word follows what ends a value.
    if (rule() == Rule::PresetBody)
      return statement_.empty() || (parse::isWord(token.kind) && word != "like" && (fresh_line || endsValue()));
    if (rule() == Rule::WorkloadBody)
      return (word == "version" || word == "inputs" || word == "estimate" || word == "outputs" || word == "prepare" ||
              word == "expect") &&
             (statement_.empty() || fresh_line);
    return rule() == Rule::File && word == "ordered" && (statement_.empty() || fresh_line);
  }

  bool endsValue() const {
    const Token last = statement_.back().kind;
    return last == Token::Number || last == Token::String || last == Token::RightBrace || last == Token::RightParen ||
           last == Token::RightBracket || last == Token::True || last == Token::False || last == Token::Identifier;
  }

  /// What a brace after the statement so far opens.
  Frame opened() const {
    Frame frame;
    if (statement_.empty()) return frame;
    const Token head = statement_.front().kind;
    const bool file = rule() == Rule::File && frames_.empty();
    const auto opens = [&](Rule inside) {
      frame.block = true;
      frame.rule = inside;
    };
    if (file && head == Token::Study) opens(Rule::StudyBody);
    if (file && head == Token::Workload) opens(Rule::WorkloadBody);
    if (file && (head == Token::Enum || text(statement_.front()) == "ordered")) {
      frame.block = frame.is_enum = true;
    }
    if (file && head == Token::System) frame.block = frame.is_system = true;
    if (file && head == Token::Reference) frame.block = frame.is_reference = true;
    if ((file || rule() == Rule::StudyBody) && head == Token::Preset && statement_.size() == 2) opens(Rule::PresetBody);
    if ((rule() == Rule::StudyBody || rule() == Rule::PresetBody) && head == Token::Design && statement_.size() <= 2)
      opens(Rule::DesignBody);
    if (rule() == Rule::DesignBody && statement_.size() == 1) opens(Rule::KindBody);
    return frame;
  }

  void take(const LexedToken& token) {
    const Token kind = token.kind;
    if (brackets_ == 0 && kind == Token::LeftBrace) {
      Frame frame = opened();
      if (frame.block) {
        if (frame.rule == Rule::StudyBody || frame.rule == Rule::WorkloadBody) {
          const uint32_t name = statement_.size() > 1 ? statement_[1].range.begin : parse::kNone;
          (frame.rule == Rule::StudyBody ? context_.study : context_.workload) = name;
          context_.study_tokens.clear();
        }
        frame.statement = std::move(statement_);
        statement_.clear();
        frames_.push_back(std::move(frame));
        return;
      }
    }
    if (brackets_ == 0 && kind == Token::RightBrace && !frames_.empty()) {
      if (frames_.size() == 1) context_.study = context_.workload = parse::kNone;
      frames_.pop_back();
      statement_.clear();
      return;
    }
    if (begins(token)) {
      // A study or an import inside a block: the block was never closed.
      statement_.clear();
      brackets_ = 0;
    } else if (line_empty_ && !frames_.empty() && (kind == Token::Study || kind == Token::Import)) {
      frames_.clear();
      context_.study = context_.workload = parse::kNone;
      statement_.clear();
      brackets_ = 0;
    }
    if (kind == Token::LeftParen || kind == Token::LeftBracket || kind == Token::LeftBrace) ++brackets_;
    if ((kind == Token::RightParen || kind == Token::RightBracket || kind == Token::RightBrace) && brackets_ > 0)
      --brackets_;
    statement_.push_back(token);
    if (rule() == Rule::StudyBody) context_.study_tokens.push_back(token);
  }

  const source::SourceManager& sources_;
  uint32_t offset_;
  Context context_;
  std::vector<Frame> frames_;
  std::vector<LexedToken> statement_;
  unsigned brackets_ = 0;
  bool line_empty_ = true;
};

}  // namespace

Context contextAt(const source::SourceManager& sources, const std::vector<LexedToken>& tokens, uint32_t offset) {
  return Scanner(sources, offset).scan(tokens);
}

}  // namespace expc::lsp
