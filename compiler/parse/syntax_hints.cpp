#include "compiler/diag/closest.h"
#include "compiler/language/words.h"
#include "compiler/parse/syntax_errors.h"

namespace expc::parse {

namespace {

/// `300 px`
std::string unitHint(std::string_view before, std::string_view text) {
  const bool plain = !before.empty() && before.back() >= '0' && before.back() <= '9';
  if (!plain || !language::findUnit(text)) return "";
  return fmt::format("; a unit is written without a space: '{}{}'", before, text);
}

/// Signs that other languages have: `rest` is the text from the token that was found on.
std::string signHint(Token previous, std::string_view rest) {
  if (rest.starts_with("=>") || rest.starts_with("=<")) return fmt::format("; did you mean '{}='?", rest[1]);
  if (rest.starts_with("/*")) return "; a comment begins with '//' and ends with its line";
  if (rest.starts_with(":=")) return "; a value is given by '='";
  if (previous == Token::Less && rest.starts_with(">")) return "; did you mean '!='?";
  if (previous == Token::Equal && rest.starts_with("=")) return "; did you mean '=='?";
  if (previous == Token::Range && rest.starts_with(".")) return "; a range has two dots: 1..4";
  if (previous == Token::Star && rest.starts_with("*")) return "; there is no power: write the product";
  return "";
}

/// Words that other languages have.
std::string wordHint(std::string_view word, const Situation& situation) {
  if (word == "if" && situation.within(Rule::CriterionDecl))
    return "; a condition follows 'where', as in 'forall * where a > 1'";
  if ((word == "vs" || word == "versus") && situation.expects(Token::Over)) return "; did you mean 'over'?";
  static constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"if", "a condition follows 'when'"},          {"unless", "a condition follows 'when', as in 'when not a'"},
      {"is", "a comparison is written '=='"},        {"to", "a range is written 1..4"},
      {"step", "a step follows 'by': 0..100 by 10"}, {"vs", "did you mean 'against'?"},
      {"versus", "did you mean 'against'?"},         {"base", "did you mean 'baseline'?"},
      {"since", "did you mean 'because'?"},          {"else", "a value for a factor that is not active follows '?\?'"}};
  for (auto [foreign, meant] : kMeant)
    if (word == foreign) return fmt::format("; {}", meant);
  return "";
}

bool isOrder(Token token) {
  return token == Token::Less || token == Token::LessEqual || token == Token::Greater || token == Token::GreaterEqual;
}

/// What the construct that is being read asks for.
std::string constructHint(const Situation& situation, std::string_view before) {
  const Token found = situation.found.token;
  if (situation.within(Rule::CommandClause) && found == Token::String)
    return "; the program and each argument are texts of their own, and no shell reads them";
  if (situation.within(Rule::SettingValue) && situation.within(Rule::List))
    return "; the settings of a kind of trial stand in braces: timed { repeat 10 }";
  if (situation.within(Rule::KindBody) && found == Token::LeftBrace && language::find(language::Role::Kind, before))
    return fmt::format("; close the trials above by '}}' before '{}'", before);
  if (situation.within(Rule::InputsDecl) && found == Token::LeftBracket)
    return "; files are listed without brackets: inputs \"a\", \"b\"";
  if (situation.within(Rule::ReferenceBody) && found == Token::Colon)
    return "; what a name is read from follows '=': time = column(total_time_s) * 1s";
  const bool alone = situation.rules.back() == Rule::ValueFile;  // a condition of the command line
  if ((situation.rules.front() == Rule::Group || alone) && found == Token::Assign)
    return "; a comparison is written '=='";
  const bool names = situation.within(Rule::RecordField) && situation.earlier.token == Token::LeftBrace &&
                     (found == Token::Comma || found == Token::RightBrace);
  if (names || (found == Token::Enum && situation.rules.front() == Rule::Type))
    return "; names to choose from are declared apart, as in enum Cache { none, lru }, and the enum's name is the type";
  if (before == "list" && (found == Token::LeftBracket || found == Token::Less || isWord(found)))
    return "; a type of lists is written list(int)";
  if (found == Token::LeftParen && language::find(language::Role::Source, before))
    return fmt::format("; what a metric is read from follows 'from': from {}(…)", before);
  if (situation.rules.front() == Rule::Claim && diag::closest(before, {"infeasible"}))
    return "; did you mean 'infeasible'?";
  if (isOrder(found) && isOrder(situation.earlier.token)) return "; comparisons do not chain: write 'x within a..b'";
  const bool in_study = situation.rules.front() == Rule::StudyBody;
  if (found == Token::Assign && language::find(language::Role::Trait, before))
    return "; a metric's value stands before what is said of it: metric rate : float = 1 / loss higher";
  if (in_study && found == Token::Comma && situation.earlier.token == Token::Table)
    return "; a table shows one metric or comparison: write another 'table'";
  if (in_study && found == Token::String && situation.previous.token != Token::String)
    return "; a reason follows 'because'";
  if (in_study && found == Token::Comma && situation.previous.token == Token::Number)
    return "; several levels stand in braces: { 32, 64 }";
  if (situation.rules.front() != Rule::WorkloadBody) return "";
  if (found == Token::Timeout) return "; 'timeout' stands behind the command: command [\"python\"] timeout 2h";
  if (found == Token::Command) return "; 'command' stands behind the workload's name: workload w command [\"python\"]";
  if (found == Token::String && situation.previous.token != Token::String)
    return "; a program is given by 'command': workload w command [\"python\", \"train.py\"]";
  return "";
}

}  // namespace

std::string hint(std::string_view file, const Situation& situation) {
  const auto textOf = [&](const Located& token) { return file.substr(token.begin, token.end - token.begin); };
  const Located &found = situation.found, &previous = situation.previous, &earlier = situation.earlier;
  const std::string_view text = textOf(found), before = textOf(previous);
  if (previous.token == Token::Number)
    if (std::string unit = unitHint(before, text); !unit.empty()) return unit;
  // `-D threads=1,4`; a condition of `--where` is read alone as well.
  if (situation.rules.back() == Rule::ValueFile && found.token == Token::Comma &&
      file.find_first_of("<>=!") == std::string_view::npos)
    return fmt::format("; several levels stand in braces: {{{}}}", file);
  const Rule rule = situation.rules.front();
  const bool entry = rule == Rule::Assignment || rule == Rule::DesignItem || rule == Rule::Setting;
  if (entry && earlier.token == Token::Number)
    if (std::string unit = unitHint(textOf(earlier), before); !unit.empty()) return unit;
  if (std::string sign = signHint(previous.token, file.substr(found.begin)); !sign.empty()) return sign;
  if (std::string meant = constructHint(situation, before); !meant.empty()) return meant;
  return found.token == Token::Identifier ? wordHint(text, situation) : "";
}

}  // namespace expc::parse
