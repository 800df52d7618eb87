#include "compiler/parse/syntax_errors.h"

#include <algorithm>

#include "compiler/diag/closest.h"
#include "compiler/diag/columns.h"
#include "compiler/language/words.h"
#include "compiler/parse/blocks.h"
#include "compiler/parse/syntax_describe.h"
#include "compiler/parse/syntax_hints.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(SyntaxError, Error, "{0}", std::string);
EXPC_DIAGNOSTIC(UnexpectedCharacter, Error, "{0}", std::string);
EXPC_DIAGNOSTIC(UnterminatedString, Error, "this text is not closed: a '\"' is missing before the end of the line");
EXPC_DIAGNOSTIC(TooManyTokens, Error, "this file has more than {0} words and signs", size_t);
EXPC_DIAGNOSTIC(NestingTooDeep, Error, "brackets are nested more than {0} deep", size_t);

namespace {

constexpr size_t kLongestQuote = 40;

std::string quote(std::string_view text) {
  std::string shown = diag::printable(text);
  if (shown.size() > kLongestQuote) {
    size_t end = kLongestQuote;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
    shown = shown.substr(0, end) + "…";
  }
  return "'" + shown + "'";
}

std::string describeFound(const source::SourceManager& sources, source::FileId file, const Located& found,
                          bool wants_name) {
  if (found.token == Token::EndOfFile) return "the end of the file";
  std::string_view text = sources.text({file, found.begin, found.end});
  if (found.token == Token::String || found.token == Token::UnterminatedString)
    return fmt::format("the text {}", diag::printable(text).substr(0, 200));
  if (wants_name && isReserved(found.token)) return quote(text) + ", which is a reserved word";
  return quote(text);
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

/// Says `message` with the word that was meant, which replaces what was found.
void emitWith(diag::Emitter& emitter, source::Range range, std::string message, source::Range found,
              const std::optional<std::string>& meant) {
  if (meant) message += fmt::format("; did you mean '{}'?", *meant);
  diag::Builder builder = emitter.build(range, SyntaxError, std::move(message));
  if (meant) builder.fix(found, *meant);
  builder.emit();
}

bool onLaterLine(const source::SourceManager& sources, source::FileId file, const Located& previous,
                 const Located& found) {
  return sources.text({file, previous.end, found.begin}).find('\n') != std::string_view::npos;
}

}  // namespace

void reportUnexpected(const source::SourceManager& sources, Reporter& reporter, const Situation& situation) {
  const source::FileId file = reporter.file();
  const Located& found = situation.found;
  std::string message = "expected " + describeExpected(situation);
  uint32_t begin = found.begin, end = found.end;
  bool later_line = false;
  if (situation.has_previous) {
    const Located& previous = situation.previous;
    if (previous.token == Token::String)
      message += " after the text";
    else
      message += " after " + quote(sources.text({file, previous.begin, previous.end}));
    // Where the line just ends, the place to mend is its end and not the next statement.
    later_line = onLaterLine(sources, file, previous, found);
    if (later_line) begin = end = previous.end;
  }
  if (message.back() == ',') message.pop_back();
  message += ", found " + describeFound(sources, file, found, wantsName(situation) && !later_line);
  std::vector<Token> words = situation.expected;
  if (situation.rules.front() == Rule::WorkloadBody) words.insert(words.end(), {Token::Command, Token::Timeout});
  const std::string meant = hint(sources, file, situation);
  message += meant;
  if (diag::Emitter* emitter = reporter.next(begin))
    emitWith(*emitter, {file, begin, end}, std::move(message), {file, found.begin, found.end},
             meant.empty() ? suggestion(sources, file, found, words) : std::nullopt);
}

void reportNoStatement(const source::SourceManager& sources, Reporter& reporter, Rule block, const Situation& situation,
                       const std::vector<Token>& heads) {
  const source::FileId file = reporter.file();
  const Located& found = situation.found;
  diag::Emitter* emitter = reporter.next(found.begin);
  if (!emitter) return;
  const source::Range range{file, found.begin, found.end};
  if (found.token == Token::Assign) {
    emitter->build(range, SyntaxError, "'=' gives a value and cannot follow here; a comparison is written '=='")
        .fix(range, "==")
        .emit();
    return;
  }
  if (found.token == Token::Comma && headsOf(block).front() == Token::Identifier) {
    emitter->build(range, SyntaxError, fmt::format("what stands in a {} needs no ','", blockName(block)))
        .fix(range, "")
        .emit();
    return;
  }
  const std::string shown = describeFound(sources, file, found, false);
  const Located& previous = situation.previous;
  const bool begins =
      !situation.has_previous || previous.token == Token::LeftBrace || onLaterLine(sources, file, previous, found);
  std::vector<Token> words = heads;
  // Of two letters, a word is near to too much that could begin a statement.
  for (const language::Role role : {language::Role::Clause, language::Role::Operator})
    for (const language::Word& word : language::words(role))
      if (word.text.size() > 2 || !begins) words.push_back(tokenOf(word.text));
  const std::string meant = hint(sources, file, situation);
  const auto near = meant.empty() ? suggestion(sources, file, found, words) : std::nullopt;
  std::string message;
  if (!begins) {
    // On a line that has begun, what is wrong is what goes on and not a new statement.
    const std::string before =
        previous.token == Token::String ? "the text" : quote(sources.text({file, previous.begin, previous.end}));
    message = fmt::format("{} cannot follow {}", shown, before);
  } else if (near) {
    message = fmt::format("{} begins no statement of a {}", shown, blockName(block));
  } else {
    message = fmt::format("expected {}", describeStatements(block));
    if (message.back() == ',') message.pop_back();
    message += fmt::format(", found {}", shown);
  }
  emitWith(*emitter, range, message + meant, range, near);
}

void reportUnclosed(const source::SourceManager& sources, Reporter& reporter, Rule block, const Located& open,
                    const Situation& situation) {
  const source::FileId file = reporter.file();
  const Located& found = situation.found;
  uint32_t begin = found.begin, end = found.end;
  if (situation.has_previous && onLaterLine(sources, file, situation.previous, found))
    begin = end = situation.previous.end;
  diag::Emitter* emitter = reporter.next(begin);
  if (!emitter) return;
  emitter
      ->build({file, begin, end}, SyntaxError,
              fmt::format("expected '}}' to close the {}, found {}", blockName(block),
                          describeFound(sources, file, found, false)))
      .note({file, open.begin, open.end}, "it was opened here")
      .emit();
}

void reportCharacters(const source::SourceManager& sources, Reporter& reporter, uint32_t begin, uint32_t end) {
  const source::FileId file = reporter.file();
  diag::Emitter* emitter = reporter.next(begin);
  if (!emitter) return;
  const source::Range range{file, begin, end};
  const std::string_view text = sources.text(range);
  static constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"&&", "and"}, {"&", "and"}, {"||", "or"}, {"|", "or"}, {"!", "not"}};
  for (auto [written, meant] : kMeant)
    if (text == written) {
      emitter->build(range, UnexpectedCharacter, fmt::format("'{}' is no operator: write '{}'", written, meant))
          .fix(range, std::string(meant))
          .emit();
      return;
    }
  if (text == ";") {
    emitter->build(range, UnexpectedCharacter, "statements need no ';'").fix(range, "").emit();
  } else if (text.front() == '\'' || text.front() == '`') {
    diag::Builder builder = emitter->build(range, UnexpectedCharacter, "texts are written in double quotes");
    const std::string_view inner = text.size() > 1 ? text.substr(1, text.size() - 2) : "";
    if (text.size() > 1 && text.back() == '\'' && inner.find_first_of("\"\\") == std::string_view::npos)
      builder.fix(range, fmt::format("\"{}\"", inner));
    builder.emit();
  } else if (text.front() == '#') {
    emitter->build({file, begin, begin + 1}, UnexpectedCharacter, "comments begin with '//'")
        .fix({file, begin, begin + 1}, "//")
        .emit();
  } else {
    std::string message = fmt::format("{} has no meaning here", quote(text));
    if (text == "?") message += "; '?\?' gives a value where a factor is not active";
    if (static_cast<unsigned char>(text.front()) >= 0x80)
      message += "; names and signs are ASCII, other characters stand in texts and comments";
    emitter->emit(range, UnexpectedCharacter, message);
  }
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
