#pragma once

// Messages about input that does not fit the grammar. The strategy of the generated parser (antlr_strategy.h) describes
// where it stands in a Situation; the functions here word the message, guess what was meant and propose a mend. No text
// of ANTLR's reaches the user.
//
// syntax_errors.cpp words messages and knows common habits of other languages; syntax_slips.cpp knows slips with a
// certain mend; syntax_describe.cpp says what could stand in a place.

#include <llvm/ADT/STLExtras.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"
#include "compiler/parse/cst.h"
#include "runtime/base/llvm.h"

namespace expc::parse {

/// Thrown through the generated parser when enough was reported; the bridge catches it.
struct TooManyErrorsReached {};

/// Passes syntax errors on to the emitter, up to a limit. Errors after many others are mostly consequences of the first
/// ones.
class Reporter {
 public:
  /// Errors that are shown for one file before its rest is left unread.
  static constexpr size_t kLimit = 20;

  Reporter(const source::SourceManager& sources, diag::Emitter& emitter, source::FileId file, size_t limit = kLimit)
      : sources_(sources), emitter_(emitter), file_(file), limit_(limit) {}

  /// Reports an error, as diag::Emitter does. Beyond the limit nobody sees it; the first time, that itself is reported.
  template <typename Definition, typename... Args>
  diag::Builder emit(source::Range range, Definition definition, const Args&... args) {
    if (!counts(range.begin)) return {};
    return emitter_.emit(range, definition, args...);
  }
  /// Reports "expected …, found …".
  diag::Builder unexpected(source::Range range, const std::string& expected, const std::string& found);
  /// Reports "expected …, found …" with the text at `range` as what was found; `instead` is what it should be.
  void syntaxError(source::Range range, const std::string& expected, std::optional<std::string> instead = {});
  /// Reports an old spelling, with a warning.
  diag::Builder deprecated(source::Range range, std::string_view written, std::string_view instead) {
    return emitter_.emit(range, diag::DeprecatedSpelling, written, instead);
  }
  /// Whether more errors came than the limit allows, so that the parser should stop.
  bool exhausted() const { return count_ > limit_; }
  source::FileId file() const { return file_; }
  /// The text of the file, or of some of its bytes.
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

/// A token with its bytes [begin, end) of the file.
struct Located {
  Token token = Token::EndOfFile;
  uint32_t begin = 0;
  uint32_t end = 0;
};

/// Where the parser stands when a token does not fit: everything that a message may depend on.
struct Situation {
  std::vector<Rule> rules;      // from the innermost outwards
  std::vector<Token> expected;  // the tokens that would fit, in the order of the grammar
  Located previous;             // the token before; EndOfFile if nothing was read yet
  Located earlier;              // the token before `previous`, likewise
  Located found;                // the token that does not fit

  /// Whether a rule is open.
  bool within(Rule rule) const { return is_contained(rules, rule); }
  /// Whether a token would fit.
  bool expects(Token token) const { return is_contained(expected, token); }
  /// How messages call the end of the text. A text of the command line is no file.
  std::string_view end() const {
    return rules.empty() || rules.back() == Rule::File ? "the end of the file" : "the end";
  }
};

/// Reports a token that does not fit: "expected a level set after 'in', found 'baseline'".
void reportUnexpected(Reporter& reporter, const Situation& situation);

/// Reports that the token found begins no statement of `block` (or of the file).
void reportNoStatement(Reporter& reporter, Rule block, const Situation& situation);

/// Reports that a block ends without its brace; `open` is the `{`, to which a note points.
void reportUnclosed(Reporter& reporter, Rule block, const Located& open, const Situation& situation);

/// Reports bytes [begin, end) that begin no token, with a mend where another language's sign has an equivalent here.
void reportCharacters(Reporter& reporter, uint32_t begin, uint32_t end);

// ---- parts of these messages

/// A slip that has one reading: what stands at [begin, end) and what is written instead.
struct Slip {
  uint32_t begin = 0;
  uint32_t end = 0;
  std::string written;
  /// Goes on in the message: "; a condition follows 'when'". Empty if the fix says it all.
  std::string meant = {};
};

/// The slip that the token found is, if its mend is certain. `file` is the whole text.
std::optional<Slip> slipOf(std::string_view file, const Situation& situation);

/// The first word of the line that the token found is on; with one statement a line, the head of its statement.
std::string_view headOfLine(std::string_view file, const Situation& situation);

/// Describes what could stand in a place: "a level set, such as { a, b } or 1..4,". Ends in a comma where a sentence
/// that goes on needs one.
std::string describeExpected(const Situation& situation);

/// Describes the statements of a block: "a statement of a study (workload, …)".
std::string describeStatements(const Block& block);

}  // namespace expc::parse
