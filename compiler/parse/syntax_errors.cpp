// Words syntax errors. A message has three parts: what was expected (syntax_describe.cpp), what was found, and a hint.
// Hints name a common slip or a habit from another language and how the thing is written here; each is a rule of its
// own below, tried from the surest to the vaguest. A misspelt word is only proposed where no hint applies.

#include "compiler/parse/syntax_errors.h"

#include <llvm/ADT/STLExtras.h>

#include <cctype>

#include "compiler/diag/render.h"
#include "compiler/parse/words.h"
#include "runtime/base/printable.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(SyntaxError, "expected {0}, found {1}");
EXPC_DIAGNOSTIC(TooManyErrors, "more than {0} errors: the rest of this file was not read");
EXPC_DIAGNOSTIC(UnexpectedCharacter, "{0} has no meaning here{1}");
EXPC_DIAGNOSTIC(CannotFollow, "{0} cannot follow {1}{2}");

namespace {

/// `text` in quotes, on one line and at most 40 bytes; the cut never splits a character.
std::string quote(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string shown = base::printable(text);
  if (shown.size() > kLongest) {
    size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(shown[end]) & 0xC0) == 0x80) --end;
    shown = shown.substr(0, end) + "…";
  }
  return "'" + shown + "'";
}

source::Range rangeOf(const Reporter& reporter, const Located& token) {
  return {reporter.file(), token.begin, token.end};
}

/// How a message names the token that was found. A reserved word in the place of a name is called one, since it looks
/// like a valid name to whoever wrote it.
std::string describeFound(const Reporter& reporter, const Situation& situation, bool wants_name) {
  const Located& found = situation.found;
  if (found.token == Token::EndOfFile) return std::string(situation.end());
  const std::string_view text = reporter.text(found.begin, found.end);
  if (found.token == Token::String || found.token == Token::UnterminatedString)
    return fmt::format("the text {}", base::printable(text).substr(0, 200));
  return quote(text) + (wants_name && isReserved(found.token) ? ", which is a reserved word" : "");
}

/// How a message names the token before the error.
std::string describe(const Reporter& reporter, const Located& previous) {
  return previous.token == Token::String ? "the text" : quote(reporter.text(previous.begin, previous.end));
}

/// Whether a name is what is missing here.
bool wantsName(const Situation& situation) {
  const Rule inner = situation.rules.front();
  return situation.expects(Token::Identifier) &&
         (inner == Rule::Word || inner == Rule::Words || inner == Rule::Name || inner == Rule::FactorName);
}

/// The word among `words` of which `found` is probably a misspelling.
std::optional<std::string> suggestion(const Reporter& reporter, const Located& found, const std::vector<Token>& words) {
  if (found.token != Token::Identifier) return std::nullopt;
  std::vector<std::string> candidates;
  for (Token word : words)
    if (isReserved(word) || (isWord(word) && word != Token::Identifier)) candidates.emplace_back(spelling(word));
  return diag::closest(reporter.text(found.begin, found.end), candidates);
}

/// `word` as the replacement of `range`, with the blanks that keep it from running into its neighbours.
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

/// Whether the found token stands on a later line than the one before it, or is the first of the file.
bool onLaterLine(const Reporter& reporter, const Situation& situation) {
  return situation.previous.token == Token::EndOfFile ||
         reporter.text(situation.previous.end, situation.found.begin).find('\n') != std::string_view::npos;
}

/// A hint for a number and its unit with a blank between, such as `300 px`; else "".
std::string unitHint(std::string_view before, std::string_view text) {
  const bool plain = !before.empty() && before.back() >= '0' && before.back() <= '9';
  if (!plain || !words::findUnit(text)) return "";
  return fmt::format("; write the unit without a space: '{}{}'", before, text);
}

/// A hint for signs of other languages; `rest` is the text from the found token on.
std::string signHint(Token previous, std::string_view rest) {
  if (rest.starts_with("=>") || rest.starts_with("=<")) return fmt::format("; did you mean '{}='?", rest[1]);
  if (rest.starts_with("/*")) return "; a comment starts with '//' and ends with its line";
  if (rest.starts_with(":=")) return "; give a value with '='";
  if (previous == Token::Less && rest.starts_with(">")) return "; did you mean '!='?";
  if (previous == Token::Equal && rest.starts_with("=")) return "; did you mean '=='?";
  if (previous == Token::Range && rest.starts_with(".")) return "; a range has two dots: 1..4";
  if (previous == Token::Star && rest.starts_with("*")) return "; there is no power operator: write the product";
  return "";
}

/// A hint for words of other languages.
std::string wordHint(std::string_view word, const Situation& situation) {
  if (word == "if" && situation.within(Rule::CriterionDecl))
    return "; a condition follows 'where', as in 'forall * where a > 1'";
  if ((word == "vs" || word == "versus") && situation.expects(Token::Over)) return "; did you mean 'over'?";
  static constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"if", "a condition follows 'when'"},          {"unless", "a condition follows 'when', as in 'when not a'"},
      {"is", "write a comparison as '=='"},          {"to", "write a range as 1..4"},
      {"step", "a step follows 'by': 0..100 by 10"}, {"vs", "did you mean 'against'?"},
      {"versus", "did you mean 'against'?"},         {"base", "did you mean 'baseline'?"},
      {"since", "did you mean 'because'?"},          {"else", "a value for a factor that is not active follows '?\?'"}};
  for (auto [foreign, meant] : kMeant)
    if (word == foreign) return fmt::format("; {}", meant);
  return "";
}

/// Returns a hint for a statement of a study that begins with an everyday word, or with the name that it would declare;
/// `rest` is the text behind that word.
std::string statementHint(std::string_view word, StringRef rest) {
  constexpr std::string_view kClaims[] = {"claim", "claims", "assert", "hypothesis", "verify"};
  if (is_contained(kClaims, word)) return "; a claim is a criterion: criterion faster: forall *: gain >= 1.2x";
  rest = rest.ltrim(" \t");
  if (!rest.consume_front("=") || rest.starts_with("=")) return "";
  return fmt::format(
      "; write 'let {0} = …' for a value, 'compare {0} = …' for a comparison, 'expected {0} = …' for what "
      "is assumed of one",
      word);
}

bool isOrder(Token token) {
  return token == Token::Less || token == Token::LessEqual || token == Token::Greater || token == Token::GreaterEqual;
}

/// A hint that depends on the construct around the error; `before` is the text of the token before it. The order
/// matters: the first rule that applies wins. `later` if the error begins a line, which ends what stands before it.
std::string constructHint(const Situation& situation, std::string_view before, bool later) {
  using enum Token;
  const Token found = situation.found.token, earlier = later ? EndOfFile : situation.earlier.token;
  if (situation.within(Rule::CommandDecl) && found == String)
    return "; write the program and each argument as a text of its own; they run without a shell";
  if (situation.within(Rule::SettingValue) && situation.within(Rule::List))
    return "; put the settings of a kind of trial in braces: timed { repeat 10 }";
  if (situation.within(Rule::KindBody) && found == LeftBrace && words::find(words::Role::Kind, before))
    return fmt::format("; close the trials above by '}}' before '{}'", before);
  if (situation.within(Rule::InputsDecl) && found == LeftBracket)
    return "; list files without brackets: inputs \"a\", \"b\"";
  if (situation.within(Rule::ReferenceBody) && found == Colon)
    return "; write the source of a name after '=': time = column(total_time_s) * 1s";
  const bool alone = situation.rules.back() == Rule::ValueFile;  // a condition of the command line
  if ((situation.rules.front() == Rule::Group || alone) && found == Assign) return "; write a comparison as '=='";
  const bool names = situation.within(Rule::RecordField) && situation.earlier.token == LeftBrace &&
                     (found == Comma || found == RightBrace);
  if (names || (found == Enum && situation.rules.front() == Rule::Type))
    return "; declare the names to choose from separately, as in enum Cache { none, lru }, and use the enum's name as "
           "the type";
  if (before == "list" && (found == LeftBracket || found == Less || isWord(found)))
    return "; write a type of lists as list(int)";
  if (found == LeftParen && words::find(words::Role::Source, before))
    return fmt::format("; write the source of a metric after 'from': from {}(…)", before);
  if (isOrder(found) && isOrder(situation.earlier.token)) return "; comparisons do not chain: write 'x within a..b'";
  const bool in_study = situation.rules.front() == Rule::StudyBody;
  if (found == Assign && words::find(words::Role::Trait, before))
    return "; write a metric's value before its properties: metric rate : float = 1 / loss higher";
  constexpr Token kNamed[] = {Design, Preset, Criterion, Compare, Factor, Study};
  if ((found == Dot || found == Like) && is_contained(kNamed, situation.earlier.token))
    return "; what studies share stands in a 'part', and 'use shared.name' takes it";
  if (in_study && found == Comma && situation.earlier.token == Table)
    return "; a table shows one metric or comparison: write another 'table'";
  if (in_study && found == String && situation.previous.token != String) return "; a reason follows 'because'";
  if (in_study && found == Comma && situation.previous.token == Number)
    return "; put several levels in braces: { 32, 64 }";
  if (in_study && earlier == Use)
    return found == Comma ? "; write a 'use' for each part" : "; write only the name of a part after 'use'";
  if (in_study && found == Only) return "; 'only' belongs to a preset; in a study, leave points out with 'require'";
  if (situation.rules.front() != Rule::WorkloadBody) return "";
  if (found == Timeout) return "; write 'timeout' after the command: command [\"python\"] timeout 2h";
  if (found == String && situation.previous.token != String)
    return "; give a program with 'command': workload w command [\"python\", \"train.py\"]";
  return "";
}

/// Explains what a claim has in place of a word of everyday language or of logic: `before` and `text` are the word in
/// front of the error and the one at it. "" for other words.
std::string claimHint(std::string_view file, const Situation& situation, std::string_view before,
                      std::string_view text) {
  if (!situation.within(Rule::CriterionDecl) && headOfLine(file, situation) != "criterion") return "";
  const Token found = situation.found.token;
  if (found == Token::Where) return "; write the configurations of a claim before it: forall where a > 1: …";
  if (situation.earlier.token == Token::Confidence) return "; a claim has one confidence, at its end";
  if (found == Token::Not)
    return "; write the opposite: '<' for '>=', 'exists' for 'forall', 'and' for 'or'; a bound holds only where a "
           "trial ran";
  if (found == Token::NotEqual) return "; write two bounds: 'gain < 1x or gain > 1x'";
  if (situation.rules.front() != Rule::Bound)
    return before == "of" ? "; write the factors whose levels are counted after 'of': at least 2 of n: …" : "";
  if (text == "between") return "; write 'within 1x..2x'";
  if (before == "if") return wordHint(before, situation);
  if (before == "feasible")
    return "; write 'forall * where feasible: …' to rely on the estimate, 'infeasible or …' to rely on the measurement";
  if (before == "at" || before == "exactly" || before == "none" || before == "no")
    return "; a claim counts what holds, so turn the bound around: 'at least 2 of n: gain < 1x', 'forall n: gain < 1x'";
  return diag::closest(before, {"infeasible"}) ? "; did you mean 'infeasible'?" : "";
}

/// A guess at what a common slip, or a habit of another language, was meant to be: "; a range is written 1..4". "" if
/// there is none. `file` is the whole text.
std::string hint(std::string_view file, const Situation& situation) {
  const auto textOf = [&](const Located& token) { return file.substr(token.begin, token.end - token.begin); };
  const Located &found = situation.found, &previous = situation.previous, &earlier = situation.earlier;
  const std::string_view text = textOf(found), before = textOf(previous);
  if (found.token == Token::Find)
    return situation.rules.front() == Rule::StudyBody
               ? "; a search is for a later version; until then ask 'exists load where load >= 64: …'"
               : "; this word is reserved for a later version, so choose another name";
  if (previous.token == Token::Number)
    if (std::string unit = unitHint(before, text); !unit.empty()) return unit;
  // `-D threads=1,4` lacks braces. A condition of `--where` starts at the same rule, but has a comparison in it.
  if (situation.rules.back() == Rule::ValueFile && found.token == Token::Comma &&
      file.find_first_of("<>=!") == std::string_view::npos)
    return fmt::format("; put several levels in braces: {{{}}}", file);
  const Rule rule = situation.rules.front();
  const bool entry = rule == Rule::Assignment || rule == Rule::DesignItem || rule == Rule::Setting;
  // In an entry a number is already a whole value, so the error comes one token behind the stray unit.
  if (entry && earlier.token == Token::Number)
    if (std::string unit = unitHint(textOf(earlier), before); !unit.empty()) return unit;
  const bool later = file.substr(previous.end, found.begin - previous.end).find('\n') != std::string_view::npos;
  // `exclude os = rhel, size = 1`, or the same in other brackets.
  const std::string_view head = headOfLine(file, situation),
                         line = file.substr(found.begin).substr(0, file.substr(found.begin).find('\n'));
  const bool several = found.token == Token::Comma || found.token == Token::Colon || found.token == Token::Assign;
  if ((head == "exclude" || head == "require") && several && !later && line.find(',') != std::string_view::npos)
    return fmt::format("; several levels together stand in braces: {} {{ os = rhel, size = 1 }}", head);
  if (std::string sign = signHint(previous.token, file.substr(found.begin)); !sign.empty()) return sign;
  if (std::string meant = constructHint(situation, before, later); !meant.empty()) return meant;
  if (std::string meant = claimHint(file, situation, before, text); !meant.empty()) return meant;
  std::string word = found.token == Token::Identifier ? wordHint(text, situation) : "";
  if (word.empty() && later && rule == Rule::StudyBody && found.token == Token::Identifier)
    word = statementHint(text, file.substr(found.end));
  const bool level = rule == Rule::StudyBody && earlier.token == Token::In && !later;
  return word.empty() && level ? "; several levels stand in braces: { 32, 64 }" : word;
}

}  // namespace

bool Reporter::counts(uint32_t at) {
  if (exhausted()) return false;
  if (++count_ <= limit_) return true;
  return emitter_.emit({file_, at, at}, TooManyErrors, limit_);
}

diag::Builder Reporter::unexpected(source::Range range, const std::string& expected, const std::string& found) {
  return emit(range, SyntaxError, expected, found);
}

void Reporter::syntaxError(source::Range range, const std::string& expected, std::optional<std::string> instead) {
  auto error = emit(range, SyntaxError, expected, quote(sources_.text(range)));
  if (instead) error.fix(range, *std::move(instead));
}

void reportUnexpected(Reporter& reporter, const Situation& situation) {
  const Located& found = situation.found;
  const bool first = situation.previous.token == Token::EndOfFile;
  const bool later_line = !first && onLaterLine(reporter, situation);
  std::string expected = describeExpected(situation);
  if (!first) expected += " after " + describe(reporter, situation.previous);
  if (expected.back() == ',') expected.pop_back();
  source::Range range = rangeOf(reporter, found);
  // At the end of a line the place to mend is that end and not the next statement.
  if (later_line) range.begin = range.end = situation.previous.end;
  std::vector<Token> words = situation.expected;
  // These two belong in front of the brace, so the grammar does not expect them here, but a misspelling of one is
  // likely.
  if (situation.rules.front() == Rule::WorkloadBody) words.insert(words.end(), {Token::Command, Token::Timeout});
  if (situation.rules.front() == Rule::ServiceBody) words.push_back(Token::Command);
  const std::optional<Slip> slip = later_line ? std::nullopt : slipOf(reporter.text(), situation);
  const std::string meant = slip ? slip->meant : hint(reporter.text(), situation);
  const std::string shown = describeFound(reporter, situation, wantsName(situation) && !later_line);
  diag::Builder builder = reporter.unexpected(range, expected, shown + meant);
  const auto near = meant.empty() && !slip ? suggestion(reporter, found, words) : std::nullopt;
  if (near) builder.guess(rangeOf(reporter, found), *near);
  if (slip) builder.fix({reporter.file(), slip->begin, slip->end}, slip->written);
}

void reportNoStatement(Reporter& reporter, Rule block, const Situation& situation) {
  const Located& found = situation.found;
  const source::Range range = rangeOf(reporter, found);
  const std::string shown = describeFound(reporter, situation, false);
  const bool named = headsOf(block).front() == Token::Identifier;  // statements here begin with a name of the user's
  // Entries stand on lines of their own; a comma between them is a habit from other languages and safe to remove.
  if (found.token == Token::Comma && named) {
    reporter.unexpected(range, fmt::format("no ',' in a {}", blockOf(block).name), shown)
        .fix(range, apart(reporter.text(), range, ""));
    return;
  }
  const bool begins = situation.previous.token == Token::LeftBrace || onLaterLine(reporter, situation);
  std::vector<Token> words = headsOf(block);
  // At the beginning of a line a word of two letters is near to too many words to be a good guess.
  for (const words::Role role : {words::Role::Clause, words::Role::Operator})
    for (const words::Word& word : words::words(role))
      if (word.text.size() > 2 || !begins) words.push_back(tokenOf(word.text));
  const std::optional<Slip> slip = begins ? std::nullopt : slipOf(reporter.text(), situation);
  const std::string meant = slip ? slip->meant : hint(reporter.text(), situation);
  auto near = meant.empty() && !slip ? suggestion(reporter, found, words) : std::nullopt;
  // No token is spelled so by itself.
  if (!near && meant.empty() && !slip && found.token == Token::Identifier &&
      headOfLine(reporter.text(), situation) == "param")
    near = diag::closest(reporter.text(found.begin, found.end), {"inside"});
  // `a = 1` where a comparison goes on: `==` was meant.
  if (found.token == Token::Assign && !begins && !named && meant.empty() && !slip) near = "==";
  std::string expected =
      near ? fmt::format("a statement of a {}", blockOf(block).name) : describeStatements(blockOf(block));
  if (expected.back() == ',') expected.pop_back();
  // On a line that has begun the fault is how it goes on, not the statement that is missing.
  diag::Builder builder =
      begins ? reporter.unexpected(range, expected, shown + meant)
             : reporter.emit(range, CannotFollow, shown, describe(reporter, situation.previous), meant);
  if (near) builder.guess(range, *near);
  if (slip) builder.fix({reporter.file(), slip->begin, slip->end}, slip->written);
}

void reportUnclosed(Reporter& reporter, Rule block, const Located& open, const Situation& situation) {
  source::Range range = rangeOf(reporter, situation.found);
  if (onLaterLine(reporter, situation)) range.begin = range.end = situation.previous.end;
  reporter
      .unexpected(range, fmt::format("'}}' to close the {}", blockOf(block).name),
                  describeFound(reporter, situation, false))
      .note(rangeOf(reporter, open), "it was opened here");
}

void reportCharacters(Reporter& reporter, uint32_t begin, uint32_t end) {
  source::Range range{reporter.file(), begin, end};
  const std::string_view text = reporter.text(begin, end);
  // Reports with a certain mend: `word` in place of the characters.
  const auto mend = [&](std::string_view shown, std::string_view why, std::string word) {
    reporter.emit(range, UnexpectedCharacter, quote(shown), why)
        .fix(range, apart(reporter.text(), range, std::move(word)));
  };
  static constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"&&", "and"}, {"&", "and"}, {"||", "or"}, {"|", "or"}, {"!", "not"}};
  for (auto [written, meant] : kMeant)
    if (text == written) return mend(text, fmt::format(": write '{}'", meant), std::string(meant));
  if (text == ";") return mend(text, ": a statement needs no sign at its end", "");
  // The token holds the whole line behind the `#`; only the sign itself is wrong.
  if (text.front() == '#') {
    range.end = begin + 1;
    return mend("#", ": a comment starts with '//'", "//");
  }
  std::string why;
  if (text.front() == '\'' || text.front() == '`') {
    why = ": put a text in double quotes";
    // A text with a quote or an escape inside would change its meaning in double quotes, so it gets no mend.
    const std::string_view inner = text.size() > 1 ? text.substr(1, text.size() - 2) : "";
    if (text.size() > 1 && text.back() == '\'' && inner.find_first_of("\"\\") == std::string_view::npos)
      return mend(text, why, fmt::format("\"{}\"", inner));
  } else if (text == "?") {
    why = "; '?\?' gives a value where a factor is not active";
  } else if (text == "%") {
    // `95 %`: show the number as it would be written.
    std::string_view before = reporter.text(0, begin);
    before = before.substr(0, before.find_last_not_of(' ') + 1);
    before.remove_prefix(before.find_last_not_of("0123456789.") + 1);
    if (!before.empty()) why = fmt::format("; write the unit without a space: '{}%'", before);
  } else if (static_cast<unsigned char>(text.front()) >= 0x80) {
    why = "; names and signs are ASCII; other characters are allowed only in texts and comments";
  }
  reporter.emit(range, UnexpectedCharacter, quote(text), why);
}

}  // namespace expc::parse
