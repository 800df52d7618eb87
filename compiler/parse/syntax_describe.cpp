// Describes what could stand in a place, in words of the language and not of the grammar: "a level set", not "expected
// one of 14 tokens". The innermost rule that is neither an expression nor a name tells which construct is being read;
// that rule and the token before decide the words. Where nothing better is known, the expected tokens are listed.

#include <algorithm>

#include "compiler/parse/syntax_errors.h"
#include "compiler/parse/words.h"
#include "runtime/base/format.h"

namespace expc::parse {

namespace {

/// Whether a rule is a part of an expression. The comparison relies on the order of rules in the grammar, where those
/// from `value` to `argument` stand together; sets and arguments are lists with descriptions of their own.
bool isExpression(Rule rule) {
  using enum Rule;
  return (rule >= Value && rule <= Argument && rule != Set && rule != Arguments) || rule == Number ||
         rule == Refinement || rule == SettingValue;
}

/// Rules that read a name or a list of names.
constexpr Rule kNames[] = {Rule::Word, Rule::AnyWord, Rule::Words, Rule::Name, Rule::FactorName};

/// Describes the missing name of a statement: its own name, or that of a thing it refers to.
std::string nameIn(Rule rule, Token previous) {
  using enum Rule;
  if (previous == Token::By || previous == Token::Over) return "the name of a factor";
  // Statements that declare a name …
  static constexpr std::pair<Rule, std::string_view> kOwn[] = {
      {EnumDecl, "enum"},           {WorkloadDecl, "workload"}, {WorkloadUse, "workload"},
      {ServiceDecl, "service"},     {SystemDecl, "system"},     {ReferenceDecl, "reference"},
      {ControlDecl, "control"},     {ParamDecl, "parameter"},   {MetricDecl, "metric"},
      {StudyDecl, "study"},         {FactorDecl, "factor"},     {CompareDecl, "comparison"},
      {CriterionDecl, "criterion"}, {PresetDecl, "preset"}};
  // … and statements that refer to one.
  static constexpr std::pair<Rule, std::string_view> kOther[] = {
      {EnumLevel, "level"},          {ReferenceItem, "parameter or metric"},
      {EstimateDecl, "metric"},      {RecordField, "field"},
      {Bound, "reference"},          {MeasureDecl, "metric"},
      {TableDecl, "metric"},         {PlotDecl, "metric or comparison"},
      {Quantifier, "factor"},        {OnlyClause, "factor"},
      {FactorNames, "factor"},       {PointFile, "factor"},
      {CriteriaClause, "criterion"}, {ServiceUse, "service"}};
  if (rule == Setting || rule == DesignItem) return "a setting";
  for (const auto& [named, what] : kOwn)
    if (named == rule) return fmt::format("the {}'s name", what);
  for (const auto& [named, what] : kOther)
    if (named == rule) return fmt::format("the name of a {}", what);
  return "a name";
}

std::string describeToken(const Situation& situation, Token token) {
  if (token == Token::EndOfFile) return std::string(situation.end());
  if (token == Token::Number) return "a number";
  if (token == Token::String) return "a text in double quotes";
  return token == Token::Identifier ? "a name" : fmt::format("'{}'", spelling(token));
}

/// Lists the expected tokens: "'{' or a name". Where any name fits, words that may be names are not listed one by one.
std::string listOf(const Situation& situation) {
  std::vector<std::string> shown;
  const bool names = situation.expects(Token::Identifier);
  for (Token token : situation.expected)
    if (!names || !isWord(token) || token == Token::Identifier) shown.push_back(describeToken(situation, token));
  return diag::list(shown, "or");
}

/// Describes a missing operand by the token before it, or by the construct around it.
std::string_view describeOperand(Rule outer, Token previous) {
  using enum Token;
  if (previous == In) {
    const bool levels = outer == Rule::FactorDecl || outer == Rule::OnlyClause;
    return levels ? "a level set, such as { a, b } or 1..4," : "a set, such as { a, b }, or a range";
  }
  static constexpr std::pair<Token, std::string_view> kBehind[] = {
      {Assign, "a value"},
      {Baseline, "a level"},
      {Confidence, "a share, such as 95%,"},
      {Timeout, "a time, such as 2h,"},
      {Ready, "http(\"/health\"), tcp, regex(\"…\") or file(\"…\")"},
      {Looks, "'at' and numbers of repetitions, such as at 8, 14,"},
      {Until, "a condition, such as half_width(gain) <= 1%,"},
      {From, "where metrics are read, such as json(\"out.json\"),"},
      {Outputs, "where metrics are read, such as json(\"out.json\"),"},
      {Expect, "what must hold, such as regex(\"all tests passed\"),"}};
  for (const auto& [word, operand] : kBehind)
    if (word == previous) return operand;
  if (outer == Rule::ReferenceItem) return "the name of a column of the file";
  return outer == Rule::Set || outer == Rule::DesignItem || outer == Rule::Setting ? "a value" : "an expression";
}

/// Describes how a list in brackets may go on, where `close` ends it; "" if `rule` is no such list.
std::string describeList(Rule rule, Token previous, Token close) {
  using enum Rule;
  if (rule == Type) return "')'";
  const bool wants_more = previous == Token::Comma || previous == Token::LeftParen || previous == Token::LeftBracket;
  if (rule == FactorName) return wants_more ? "the name of a factor" : "',' or ')'";
  static constexpr std::pair<Rule, std::string_view> kElements[] = {{Group, "a value"},
                                                                    {EnumLevel, "a type"},
                                                                    {TupleType, "a type"},
                                                                    {Arguments, "an argument"},
                                                                    {Selectors, "a factor and its level"},
                                                                    {TextList, "a text in double quotes"},
                                                                    {List, "a value"},
                                                                    {EnumDecl, "a level"},
                                                                    {RecordType, "a field"},
                                                                    {Set, "a value"}};
  for (const auto& [list, element] : kElements)
    if (list == rule) return fmt::format("{} or '{}'", wants_more ? element : "','", spelling(close));
  return "";
}

/// Describes a missing claim of a criterion, or the part of it that is missing.
std::string describeClaim(const Situation& situation) {
  if (situation.expects(Token::Number)) return "a claim, such as gain >= 1.2x or infeasible,";
  if (situation.expects(Token::Range)) return "'..' and the upper end of the band";
  return "a comparison (>=, >, <=, <, ==, 'within' or 'like')";
}

}  // namespace

std::string describeExpected(const Situation& situation) {
  using enum Rule;
  const Rule inner = situation.rules.front();
  const Token previous = situation.previous.token;
  // The construct around: the innermost rule that says more than "an expression" or "a name".
  const auto outer = std::ranges::find_if(situation.rules,
                                          [](Rule rule) { return !isExpression(rule) && !is_contained(kNames, rule); });
  const Rule statement = outer == situation.rules.end() ? File : *outer;
  // Special cases from the most certain to the least: one bracket, a name, rules with one description, then operands.
  const bool one = situation.expected.size() == 1;
  // Only a closing bracket fits: inside a list the next item or a comma would fit as well, which the grammar does not
  // tell at this point.
  if (one && closes(situation.expected[0]))
    if (std::string list = describeList(inner, previous, situation.expected[0]); !list.empty()) return list;
  if (is_contained(kNames, inner)) {
    if (statement == PlotDecl && situation.within(FactorName)) return "the name of a factor";
    return statement == Type ? "a type" : nameIn(statement, previous);
  }
  // Rules with one description wherever they stand.
  static constexpr std::pair<Rule, std::string_view> kOf[] = {
      {Type, "a type"},
      {RefinedType, "a type"},
      {Text, "a text in double quotes"},
      {CommandArgument, "a text in double quotes"},
      {InputsDecl, "a text in double quotes"},
      {ImportDecl, "a module, such as std.image, or a path in double quotes,"},
      {TextList, "a list of texts, such as [\"python\", \"train.py\"],"},
      {DesignItem, "a value or '{'"}};
  for (const auto& [rule, what] : kOf)
    if (rule == inner) return std::string(what);
  static constexpr Rule kClaim[] = {Claim, Clause, Assertion, Subject, Bound};
  if (is_contained(kClaim, inner) && !situation.expects(Token::RightParen) && !situation.expects(Token::Colon))
    return describeClaim(situation);
  if (inner == WorkloadBody && previous == Token::RightBracket) return "'timeout' or '{'";
  if (inner == WorkloadBody || inner == ServiceBody) return isWord(previous) ? "'command' or '{'" : "'{'";
  if (inner == DesignBody) return "'{'";
  if (inner == Refinement) return std::string(describeOperand(statement, previous));
  if (inner == Number) return statement == VersionDecl ? "a whole number" : "a number";
  if (isExpression(inner) && !one) return std::string(describeOperand(statement, previous));
  return situation.expected.empty() ? "something else" : listOf(situation);
}

std::string describeStatements(const Block& block) {
  if (!block.statements.empty()) return std::string(block.statements);
  std::vector<std::string> heads = words::texts(words::Role::Head, block.words);
  if (block.names) heads.insert(heads.begin(), "an assignment");
  return fmt::format("a {} ({})",
                     block.rule == Rule::File ? "declaration" : fmt::format("statement of a {}", block.name),
                     diag::list(heads, "or"));
}

}  // namespace expc::parse
