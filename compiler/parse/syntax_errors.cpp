#include "compiler/parse/syntax_errors.h"

#include <cctype>

#include "compiler/diag/closest.h"
#include "compiler/diag/columns.h"
#include "compiler/language/words.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(UnexpectedCharacter, Error, "{0} has no meaning here{1}");
EXPC_DIAGNOSTIC(CannotFollow, Error, "{0} cannot follow {1}{2}");

namespace {

source::Range rangeOf(const Reporter& reporter, const Located& token) {
  return {reporter.file(), token.begin, token.end};
}

std::string describeFound(const Reporter& reporter, const Situation& situation, bool wants_name) {
  const Located& found = situation.found;
  if (found.token == Token::EndOfFile) return std::string(situation.end());
  const std::string_view text = reporter.text(found.begin, found.end);
  if (found.token == Token::String || found.token == Token::UnterminatedString)
    return fmt::format("the text {}", diag::printable(text).substr(0, 200));
  return quote(text) + (wants_name && isReserved(found.token) ? ", which is a reserved word" : "");
}

std::string describe(const Reporter& reporter, const Located& previous) {
  return previous.token == Token::String ? "the text" : quote(reporter.text(previous.begin, previous.end));
}

bool wantsName(const Situation& situation) {
  const Rule inner = situation.rules.front();
  return situation.expects(Token::Identifier) &&
         (inner == Rule::Word || inner == Rule::Words || inner == Rule::Name || inner == Rule::FactorName);
}

/// The word that fits here and that `found` is a slip of the pen for.
std::optional<std::string> suggestion(const Reporter& reporter, const Located& found, const std::vector<Token>& words) {
  if (found.token != Token::Identifier) return std::nullopt;
  std::vector<std::string> candidates;
  for (Token word : words)
    if (isReserved(word) || (isWord(word) && word != Token::Identifier)) candidates.emplace_back(spelling(word));
  return diag::closest(reporter.text(found.begin, found.end), candidates);
}

/// `word` in place of `range`, with the blanks without which it would run into its neighbours.
std::string apart(std::string_view text, source::Range range, std::string word) {
  const auto joins = [](char left, char right) {
    const auto inWord = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    return inWord(left) && inWord(right);
  };
  const char before = range.begin > 0 ? text[range.begin - 1] : ' ';
  const char after = range.end < text.size() ? text[range.end] : ' ';
  if (word.empty()) return joins(before, after) ? " " : "";
  if (joins(before, word.front())) word.insert(0, " ");
  if (joins(word.back(), after)) word += ' ';
  return word;
}

/// Where nothing was read before, too.
bool onLaterLine(const Reporter& reporter, const Situation& situation) {
  return situation.previous.token == Token::EndOfFile ||
         reporter.text(situation.previous.end, situation.found.begin).find('\n') != std::string_view::npos;
}

}  // namespace

void reportUnexpected(Reporter& reporter, const Situation& situation) {
  const Located& found = situation.found;
  const bool first = situation.previous.token == Token::EndOfFile;
  const bool later_line = !first && onLaterLine(reporter, situation);
  std::string expected = describeExpected(situation);
  if (!first) expected += " after " + describe(reporter, situation.previous);
  if (expected.back() == ',') expected.pop_back();
  source::Range range = rangeOf(reporter, found);
  // Where the line just ends, the place to mend is its end and not the next statement.
  if (later_line) range.begin = range.end = situation.previous.end;
  std::vector<Token> words = situation.expected;
  if (situation.rules.front() == Rule::WorkloadBody) words.insert(words.end(), {Token::Command, Token::Timeout});
  const std::string meant = hint(reporter.text(), situation);
  const std::string shown = describeFound(reporter, situation, wantsName(situation) && !later_line);
  std::optional<diag::Builder> builder = reporter.unexpected(range, expected, shown + meant);
  if (!builder) return;
  const auto near = meant.empty() ? suggestion(reporter, found, words) : std::nullopt;
  if (near) builder->guess(rangeOf(reporter, found), *near);
  builder->emit();
}

void reportNoStatement(Reporter& reporter, Rule block, const Situation& situation) {
  const Located& found = situation.found;
  const source::Range range = rangeOf(reporter, found);
  const std::string shown = describeFound(reporter, situation, false);
  const bool named = headsOf(block).front() == Token::Identifier;  // what stands there begins with a name of its own
  if (found.token == Token::Comma && named) {
    if (auto builder = reporter.unexpected(range, fmt::format("no ',' in a {}", blockOf(block).name), shown))
      builder->fix(range, apart(reporter.text(), range, "")).emit();
    return;
  }
  const bool begins = situation.previous.token == Token::LeftBrace || onLaterLine(reporter, situation);
  std::vector<Token> words = headsOf(block);
  // Of two letters, a word is near to too much that could begin a statement.
  for (const language::Role role : {language::Role::Clause, language::Role::Operator})
    for (const language::Word& word : language::words(role))
      if (word.text.size() > 2 || !begins) words.push_back(tokenOf(word.text));
  const std::string meant = hint(reporter.text(), situation);
  auto near = meant.empty() ? suggestion(reporter, found, words) : std::nullopt;
  if (found.token == Token::Assign && !begins && !named && meant.empty()) near = "==";
  std::string expected =
      near ? fmt::format("a statement of a {}", blockOf(block).name) : describeStatements(blockOf(block));
  if (expected.back() == ',') expected.pop_back();
  // On a line that has begun, what is wrong is what goes on and not a new statement.
  std::optional<diag::Builder> builder =
      begins ? reporter.unexpected(range, expected, shown + meant)
             : reporter.build(range, CannotFollow, shown, describe(reporter, situation.previous), meant);
  if (builder && near) builder->guess(range, *near);
  if (builder) builder->emit();
}

void reportUnclosed(Reporter& reporter, Rule block, const Located& open, const Situation& situation) {
  source::Range range = rangeOf(reporter, situation.found);
  if (onLaterLine(reporter, situation)) range.begin = range.end = situation.previous.end;
  if (auto builder = reporter.unexpected(range, fmt::format("'}}' to close the {}", blockOf(block).name),
                                         describeFound(reporter, situation, false)))
    builder->note(rangeOf(reporter, open), "it was opened here").emit();
}

void reportCharacters(Reporter& reporter, uint32_t begin, uint32_t end) {
  source::Range range{reporter.file(), begin, end};
  const std::string_view text = reporter.text(begin, end);
  const auto mend = [&](std::string_view shown, std::string_view why, std::string word) {
    if (auto error = reporter.build(range, UnexpectedCharacter, quote(shown), why))
      error->fix(range, apart(reporter.text(), range, std::move(word))).emit();
  };
  static constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"&&", "and"}, {"&", "and"}, {"||", "or"}, {"|", "or"}, {"!", "not"}};
  for (auto [written, meant] : kMeant)
    if (text == written) return mend(text, fmt::format(": write '{}'", meant), std::string(meant));
  if (text == ";") return mend(text, ": a statement ends without a sign", "");
  if (text.front() == '#') {
    range.end = begin + 1;
    return mend("#", ": a comment begins with '//'", "//");
  }
  std::string why;
  if (text.front() == '\'' || text.front() == '`') {
    why = ": a text stands in double quotes";
    const std::string_view inner = text.size() > 1 ? text.substr(1, text.size() - 2) : "";
    if (text.size() > 1 && text.back() == '\'' && inner.find_first_of("\"\\") == std::string_view::npos)
      return mend(text, why, fmt::format("\"{}\"", inner));
  } else if (text == "?") {
    why = "; '?\?' gives a value where a factor is not active";
  } else if (text == "%") {
    std::string_view before = reporter.text(0, begin);
    before = before.substr(0, before.find_last_not_of(' ') + 1);
    before.remove_prefix(before.find_last_not_of("0123456789.") + 1);
    if (!before.empty()) why = fmt::format("; a unit is written without a space: '{}%'", before);
  } else if (static_cast<unsigned char>(text.front()) >= 0x80) {
    why = "; names and signs are ASCII, other characters stand in texts and comments";
  }
  reporter.emit(range, UnexpectedCharacter, quote(text), why);
}

}  // namespace expc::parse
