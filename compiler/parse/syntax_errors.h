#pragma once

// What is said where the input does not fit the grammar. No text of the generated parser's reaches the user.

#include <llvm/ADT/STLExtras.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/parse/cst.h"
#include "compiler/source/source.h"

namespace expc::parse {

/// Thrown through the generated parser when enough was reported; caught in the bridge.
struct TooManyErrorsReached {};

/// Hands parse errors on, up to a limit: what comes after many errors mostly follows from them.
class Reporter {
 public:
  static constexpr size_t kLimit = 20;

  Reporter(const source::SourceManager& sources, diag::Emitter& emitter, source::FileId file, size_t limit = kLimit)
      : sources_(sources), emitter_(emitter), file_(file), limit_(limit) {}

  /// Begins an error; nothing once the limit is reached, which is said once.
  template <typename Definition, typename... Args>
  std::optional<diag::Builder> build(source::Range range, Definition definition, const Args&... args) {
    return counts(range.begin) ? std::optional(emitter_.build(range, definition, args...)) : std::nullopt;
  }
  template <typename Definition, typename... Args>
  void emit(source::Range range, Definition definition, const Args&... args) {
    if (auto error = build(range, definition, args...)) error->emit();
  }
  /// Begins "expected …, found …".
  std::optional<diag::Builder> unexpected(source::Range range, const std::string& expected, const std::string& found);
  /// The same with what stands at `range`.
  void syntaxError(source::Range range, const std::string& expected);
  bool exhausted() const { return count_ > limit_; }
  source::FileId file() const { return file_; }
  std::string_view text() const { return sources_.text(file_); }
  std::string_view text(uint32_t begin, uint32_t end) const { return text().substr(begin, end - begin); }

 private:
  bool counts(uint32_t at);

  const source::SourceManager& sources_;
  diag::Emitter& emitter_;
  source::FileId file_;
  size_t limit_;
  size_t count_ = 0;
};

/// A token with its place.
struct Located {
  Token token = Token::EndOfFile;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Where the parser stands.
struct Situation {
  std::vector<Rule> rules;      // from the innermost outwards
  std::vector<Token> expected;  // what it could go on with, in order of their numbers
  Located previous;             // the end of the file where there is none
  Located earlier;              // before `previous`, likewise
  Located found;

  bool within(Rule rule) const { return llvm::is_contained(rules, rule); }
  bool expects(Token token) const { return llvm::is_contained(expected, token); }
  /// What the end is called: a text of the command line is no file.
  std::string_view end() const {
    return rules.empty() || rules.back() == Rule::File ? "the end of the file" : "the end";
  }
};

/// "expected a level set after 'in', found 'baseline'".
void reportUnexpected(Reporter& reporter, const Situation& situation);

/// In a block (or the file): the next token begins no statement.
void reportNoStatement(Reporter& reporter, Rule block, const Situation& situation);

/// A block ends without its brace; `open` is its `{`.
void reportUnclosed(Reporter& reporter, Rule block, const Located& open, const Situation& situation);

/// Characters that begin no token.
void reportCharacters(Reporter& reporter, uint32_t begin, uint32_t end);

// ---- parts of these messages

/// "a level set, such as { a, b } or 1..4,": what could stand at a place; ends in a comma where a sentence that goes on
/// needs one.
std::string describeExpected(const Situation& situation);

/// "a statement of a study (workload, …)"
std::string describeStatements(const Block& block);

}  // namespace expc::parse
