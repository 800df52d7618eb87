#include "compiler/parse/syntax_errors.h"

#include <algorithm>
#include <cctype>

#include "compiler/diag/closest.h"
#include "compiler/diag/columns.h"
#include "compiler/language/words.h"
#include "compiler/parse/blocks.h"
#include "compiler/parse/syntax_describe.h"
#include "compiler/parse/syntax_hints.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(UnexpectedCharacter, Error, "{0} has no meaning here{1}", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(CannotFollow, Error, "{0} cannot follow {1}{2}", std::string_view, std::string_view, std::string_view);
EXPC_DIAGNOSTIC(UnterminatedString, Error, "this text is not closed: a '\"' is missing before the end of the line");
EXPC_DIAGNOSTIC(TooManyTokens, Error, "this file has more than {0} words and signs", size_t);
EXPC_DIAGNOSTIC(NestingTooDeep, Error, "brackets are nested more than {0} deep", size_t);

namespace {

std::string describeFound(const source::SourceManager& sources, source::FileId file, const Located& found,
                          bool wants_name) {
  if (found.token == Token::EndOfFile) return "the end of the file";
  std::string_view text = sources.text({file, found.begin, found.end});
  if (found.token == Token::String || found.token == Token::UnterminatedString)
    return fmt::format("the text {}", diag::printable(text).substr(0, 200));
  if (wants_name && isReserved(found.token)) return quote(text) + ", which is a reserved word";
  return quote(text);
}

std::string describe(const source::SourceManager& sources, source::FileId file, const Located& previous) {
  return previous.token == Token::String ? "the text" : quote(sources.text({file, previous.begin, previous.end}));
}

bool wantsName(const Situation& situation) {
  const Rule inner = situation.rules.front();
  return contains(situation.expected, Token::Identifier) &&
         (inner == Rule::Word || inner == Rule::Words || inner == Rule::Name || inner == Rule::FactorName);
}

/// The word that fits here and that `found` is a slip of the pen for.
std::optional<std::string> suggestion(const source::SourceManager& sources, source::FileId file, const Located& found,
                                      const std::vector<Token>& words) {
  if (found.token != Token::Identifier) return std::nullopt;
  std::vector<std::string> candidates;
  for (Token word : words)
    if (isReserved(word) || (isWord(word) && word != Token::Identifier)) candidates.emplace_back(spelling(word));
  return diag::closest(sources.text({file, found.begin, found.end}), candidates);
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

bool onLaterLine(const source::SourceManager& sources, source::FileId file, const Located& previous,
                 const Located& found) {
  return sources.text({file, previous.end, found.begin}).find('\n') != std::string_view::npos;
}

}  // namespace

void reportUnexpected(const source::SourceManager& sources, Reporter& reporter, const Situation& situation) {
  const source::FileId file = reporter.file();
  const Located& found = situation.found;
  std::string expected = describeExpected(situation);
  source::Range range{file, found.begin, found.end};
  bool later_line = false;
  if (situation.has_previous) {
    const Located& previous = situation.previous;
    expected += " after " + describe(sources, file, previous);
    // Where the line just ends, the place to mend is its end and not the next statement.
    later_line = onLaterLine(sources, file, previous, found);
    if (later_line) range.begin = range.end = previous.end;
  }
  if (expected.back() == ',') expected.pop_back();
  std::vector<Token> words = situation.expected;
  if (situation.rules.front() == Rule::WorkloadBody) words.insert(words.end(), {Token::Command, Token::Timeout});
  const std::string meant = hint(sources, file, situation);
  std::optional<diag::Builder> builder = reporter.unexpected(
      range, expected, describeFound(sources, file, found, wantsName(situation) && !later_line) + meant);
  if (!builder) return;
  const auto near = meant.empty() ? suggestion(sources, file, found, words) : std::nullopt;
  if (near) builder->guess({file, found.begin, found.end}, *near);
  builder->emit();
}

void reportNoStatement(const source::SourceManager& sources, Reporter& reporter, Rule block, const Situation& situation,
                       const std::vector<Token>& heads) {
  const source::FileId file = reporter.file();
  const Located& found = situation.found;
  const source::Range range{file, found.begin, found.end};
  const std::string shown = describeFound(sources, file, found, false);
  const bool named = headsOf(block).front() == Token::Identifier;  // what stands there begins with a name of its own
  if (found.token == Token::Comma && named) {
    if (auto builder = reporter.unexpected(range, fmt::format("no ',' in a {}", blockName(block)), shown))
      builder->fix(range, apart(sources.text(file), range, "")).emit();
    return;
  }
  const Located& previous = situation.previous;
  const bool begins =
      !situation.has_previous || previous.token == Token::LeftBrace || onLaterLine(sources, file, previous, found);
  std::vector<Token> words = heads;
  // Of two letters, a word is near to too much that could begin a statement.
  for (const language::Role role : {language::Role::Clause, language::Role::Operator})
    for (const language::Word& word : language::words(role))
      if (word.text.size() > 2 || !begins) words.push_back(tokenOf(word.text));
  const std::string meant = hint(sources, file, situation);
  auto near = meant.empty() ? suggestion(sources, file, found, words) : std::nullopt;
  if (found.token == Token::Assign && !begins && !named) near = "==";
  std::optional<diag::Builder> builder;
  if (begins) {
    std::string expected =
        near ? fmt::format("a statement of a {}", blockName(block)) : std::string(describeStatements(block));
    if (expected.back() == ',') expected.pop_back();
    if (auto unexpected = reporter.unexpected(range, expected, shown + meant)) builder.emplace(std::move(*unexpected));
  } else if (diag::Emitter* emitter = reporter.next(range.begin)) {
    // On a line that has begun, what is wrong is what goes on and not a new statement.
    builder.emplace(emitter->build(range, CannotFollow, shown, describe(sources, file, previous), meant));
  }
  if (builder && near) builder->guess(range, *near);
  if (builder) builder->emit();
}

void reportUnclosed(const source::SourceManager& sources, Reporter& reporter, Rule block, const Located& open,
                    const Situation& situation) {
  const source::FileId file = reporter.file();
  const Located& found = situation.found;
  uint32_t begin = found.begin, end = found.end;
  if (situation.has_previous && onLaterLine(sources, file, situation.previous, found))
    begin = end = situation.previous.end;
  if (auto builder = reporter.unexpected({file, begin, end}, fmt::format("'}}' to close the {}", blockName(block)),
                                         describeFound(sources, file, found, false)))
    builder->note({file, open.begin, open.end}, "it was opened here").emit();
}

void reportCharacters(const source::SourceManager& sources, Reporter& reporter, uint32_t begin, uint32_t end) {
  const source::FileId file = reporter.file();
  diag::Emitter* emitter = reporter.next(begin);
  if (!emitter) return;
  source::Range range{file, begin, end};
  const std::string_view text = sources.text(range);
  const auto mend = [&](std::string_view shown, std::string_view why, std::string word) {
    emitter->build(range, UnexpectedCharacter, quote(shown), why)
        .fix(range, apart(sources.text(file), range, std::move(word)))
        .emit();
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
  } else if (static_cast<unsigned char>(text.front()) >= 0x80) {
    why = "; names and signs are ASCII, other characters stand in texts and comments";
  }
  emitter->emit(range, UnexpectedCharacter, quote(text), why);
}

void reportUnterminated(Reporter& reporter, uint32_t begin, uint32_t end) {
  if (diag::Emitter* emitter = reporter.next(begin)) emitter->emit({reporter.file(), begin, end}, UnterminatedString);
}

void reportTooManyTokens(Reporter& reporter, uint32_t at, size_t limit) {
  if (diag::Emitter* emitter = reporter.next(at)) emitter->emit({reporter.file(), at, at}, TooManyTokens, limit);
}

void reportNestingTooDeep(Reporter& reporter, uint32_t at, size_t limit) {
  if (diag::Emitter* emitter = reporter.next(at)) emitter->emit({reporter.file(), at, at + 1}, NestingTooDeep, limit);
}

}  // namespace expc::parse
