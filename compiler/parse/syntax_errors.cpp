#include "compiler/parse/syntax_errors.h"

#include <algorithm>

#include "compiler/diag/closest.h"
#include "compiler/diag/columns.h"
#include "compiler/parse/blocks.h"
#include "compiler/parse/syntax_hints.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(SyntaxError, Error, "{0}", std::string);
EXPC_DIAGNOSTIC(UnexpectedCharacter, Error, "{0}", std::string);
EXPC_DIAGNOSTIC(UnterminatedString, Error, "this text is not closed: a '\"' is missing before the end of the line");
EXPC_DIAGNOSTIC(TooManyTokens, Error, "this file has more than {0} words and signs", size_t);
EXPC_DIAGNOSTIC(NestingTooDeep, Error, "brackets are nested more than {0} deep", size_t);

namespace {

constexpr size_t kLongestQuote = 40;

bool isExpression(Rule rule) {
  return (rule >= Rule::Value && rule <= Rule::Argument && rule != Rule::Set && rule != Rule::Arguments) ||
         rule == Rule::Number || rule == Rule::Refinement || rule == Rule::SettingValue;
}

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

/// The name that is missing as the first part of a statement.
std::string_view nameIn(Rule rule, Token previous) {
  if (previous == Token::By || previous == Token::Over) return "the name of a factor";
  switch (rule) {
    case Rule::EnumDecl:
      return "the enum's name";
    case Rule::EnumLevel:
      return "the name of a level";
    case Rule::WorkloadDecl:
      return "the workload's name";
    case Rule::WorkloadUse:
      return "the workload's name";
    case Rule::SystemDecl:
      return "the system's name";
    case Rule::ReferenceDecl:
      return "the reference's name";
    case Rule::ReferenceItem:
      return "the name of a parameter or metric";
    case Rule::ControlDecl:
      return "the control's name";
    case Rule::EstimateDecl:
      return "the name of a metric";
    case Rule::RecordField:
      return "the name of a field";
    case Rule::Claim:
      return "the name of a reference";
    case Rule::ParamDecl:
      return "the parameter's name";
    case Rule::MetricDecl:
      return "the metric's name";
    case Rule::StudyDecl:
      return "the study's name";
    case Rule::FactorDecl:
      return "the factor's name";
    case Rule::CompareDecl:
      return "the comparison's name";
    case Rule::CriterionDecl:
      return "the criterion's name";
    case Rule::PresetDecl:
      return "the preset's name";
    case Rule::MeasureDecl:
    case Rule::TableDecl:
      return "the name of a metric";
    case Rule::PlotDecl:
      return "the name of a metric or comparison";
    case Rule::Quantifier:
    case Rule::OnlyClause:
    case Rule::FactorNames:
      return "the name of a factor";
    case Rule::RemoveClause:
      return "the name of a criterion";
    case Rule::Setting:
    case Rule::DesignItem:
      return "a setting";
    default:
      return "a name";
  }
}

std::string describeToken(Token token) {
  switch (token) {
    case Token::EndOfFile:
      return "the end of the file";
    case Token::Number:
      return "a number";
    case Token::String:
      return "a text in double quotes";
    case Token::Identifier:
      return "a name";
    default:
      return fmt::format("'{}'", spelling(token));
  }
}

bool contains(const std::vector<Token>& tokens, Token token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

/// "'{' or a name". Where any name fits, the words that are sometimes names are not told one by one.
std::string listOf(const std::vector<Token>& tokens) {
  std::vector<Token> shown;
  const bool names = contains(tokens, Token::Identifier);
  for (Token token : tokens)
    if (!names || !isWord(token) || token == Token::Identifier) shown.push_back(token);
  std::string out;
  for (size_t at = 0; at < shown.size(); ++at) {
    if (at > 0) out += at + 1 == shown.size() ? " or " : ", ";
    out += describeToken(shown[at]);
  }
  return out;
}

std::string describeOperand(Rule outer, Token previous) {
  if (previous == Token::In) {
    const bool levels = outer == Rule::FactorDecl || outer == Rule::OnlyClause;
    return levels ? "a level set, such as { a, b } or 1..4," : "a set, such as { a, b }, or a range";
  }
  if (previous == Token::Assign) return "a value";
  if (previous == Token::Baseline) return "a level";
  if (previous == Token::Confidence) return "a share, such as 95%,";
  if (previous == Token::Timeout) return "a time, such as 2h,";
  if (previous == Token::Until) return "a condition, such as half_width(gain) <= 1%,";
  if (previous == Token::From) return "regex(…), json(…) or csv(…)";
  if (outer == Rule::ReferenceItem) return "the name of a column of the file";
  if (outer == Rule::Set) return "a value";
  if (outer == Rule::DesignItem || outer == Rule::Setting) return "a value";
  return "an expression";
}

bool isWithin(const Situation& situation, Rule rule) {
  return std::find(situation.rules.begin(), situation.rules.end(), rule) != situation.rules.end();
}

/// What a list in brackets goes on with; "" for other rules.
std::string describeList(Rule rule, Token previous) {
  const bool wants_more = previous == Token::Comma;
  const auto list = [&](std::string_view element, std::string_view close) {
    return fmt::format("{} or '{}'", wants_more ? element : "','", close);
  };
  switch (rule) {
    case Rule::Group:
      return list("a value", ")");
    case Rule::EnumLevel:
    case Rule::TupleType:
      return list("a type", ")");
    case Rule::FactorName:
      return wants_more ? "the name of a factor" : "',' or ')'";
    case Rule::Arguments:
      return previous == Token::LeftParen ? "an argument or ')'" : list("an argument", ")");
    case Rule::Type:
      return "')'";
    case Rule::Selectors:
      return list("a factor and its level", "]");
    case Rule::TextList:
      return list("a text in double quotes", "]");
    case Rule::List:
      return previous == Token::LeftBracket ? "a value or ']'" : list("a value", "]");
    case Rule::EnumDecl:
      return list("a level", "}");
    case Rule::RecordType:
      return list("a field", "}");
    case Rule::Set:
      return list("a value", "}");
    default:
      return "";
  }
}

bool isCloser(Token token) {
  return token == Token::RightParen || token == Token::RightBracket || token == Token::RightBrace;
}

std::string describeClaim(const std::vector<Token>& expected) {
  if (contains(expected, Token::Number)) return "a claim, such as gain >= 1.2x or infeasible,";
  if (contains(expected, Token::Range)) return "'..' and the upper end of the band";
  return "a comparison (>=, >, <=, <, ==, 'within' or 'like')";
}

std::string describeExpected(const Situation& situation) {
  const Rule inner = situation.rules.front();
  const Token previous = situation.has_previous ? situation.previous.token : Token::EndOfFile;
  const auto outer = std::find_if(situation.rules.begin(), situation.rules.end(), [](Rule rule) {
    return !isExpression(rule) && rule != Rule::Word && rule != Rule::AnyWord && rule != Rule::Words &&
           rule != Rule::Name && rule != Rule::FactorName;
  });
  const Rule statement = outer == situation.rules.end() ? Rule::File : *outer;
  const bool one = situation.expected.size() == 1;
  if (one && isCloser(situation.expected[0]))
    if (std::string list = describeList(inner, previous); !list.empty()) return list;
  switch (inner) {
    case Rule::Word:
    case Rule::AnyWord:
    case Rule::Words:
    case Rule::Name:
    case Rule::FactorName:
      if (statement == Rule::PlotDecl && isWithin(situation, Rule::FactorName)) return "the name of a factor";
      return std::string(statement == Rule::Type ? "a type" : nameIn(statement, previous));
    case Rule::Type:
    case Rule::RefinedType:
      return "a type";
    case Rule::Text:
      return "a text in double quotes";
    case Rule::Claim:
      return describeClaim(situation.expected);
    case Rule::ImportDecl:
      return "a module, such as std.image, or a path in double quotes,";
    case Rule::WorkloadBody:
      if (previous == Token::RightBracket) return "'timeout' or '{'";
      return isWord(previous) ? "'command' or '{'" : "'{'";
    case Rule::TextList:
      return "a list of texts, such as [\"python\", \"train.py\"],";
    case Rule::DesignItem:
      return "a value or '{'";
    case Rule::Refinement:
      return describeOperand(statement, previous);
    case Rule::Number:
      return statement == Rule::VersionDecl ? "a whole number" : "a number";
    default:
      break;
  }
  if (isExpression(inner) && !one) return describeOperand(statement, previous);
  return situation.expected.empty() ? "something else" : listOf(situation.expected);
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

std::string_view blockName(Rule block) {
  switch (block) {
    case Rule::File:
      return "file";
    case Rule::WorkloadBody:
      return "workload";
    case Rule::SystemBody:
      return "system";
    case Rule::ReferenceBody:
      return "reference";
    case Rule::StudyBody:
      return "study";
    case Rule::PresetBody:
      return "preset";
    case Rule::KindBody:
      return "kind of trial";
    default:
      return "design";
  }
}

std::string_view describeStatements(Rule block) {
  switch (block) {
    case Rule::File:
      return "a declaration (import, enum, let, workload, system, reference, preset or study)";
    case Rule::WorkloadBody:
      return "a statement of a workload (version, inputs, param, metric, estimate, require or exclude)";
    case Rule::SystemBody:
      return "a property, such as 'gpus = 4',";
    case Rule::ReferenceBody:
      return "a column, such as 'train_time : total_time_s',";
    case Rule::StudyBody:
      return "a statement of a study (workload, factor, let, require, exclude, measure, metric, compare, control, "
             "criterion, design, table, plot or preset)";
    case Rule::PresetBody:
      return "a statement of a preset (an assignment, only, remove, criterion or design)";
    case Rule::KindBody:
      return "a setting, such as 'repeat 10',";
    default:
      return "a setting, such as 'repeat 10', or a kind of trial, such as 'timed { … }',";
  }
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
  words.insert(words.end(), {Token::Baseline, Token::Because, Token::Over, Token::Against, Token::When, Token::Where,
                             Token::With, Token::Within, Token::Until, Token::From, Token::And, Token::Not});
  if (!begins) words.insert(words.end(), {Token::By, Token::As, Token::In, Token::Or});
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
