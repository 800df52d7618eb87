#include "compiler/parse/syntax_describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/language/words.h"
#include "compiler/parse/blocks.h"

namespace expc::parse {

bool contains(const std::vector<Token>& tokens, Token token) {
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

namespace {

bool isExpression(Rule rule) {
  return (rule >= Rule::Value && rule <= Rule::Argument && rule != Rule::Set && rule != Rule::Arguments) ||
         rule == Rule::Number || rule == Rule::Refinement || rule == Rule::SettingValue;
}

/// The name that is missing as the first part of a statement.
std::string nameIn(Rule rule, Token previous) {
  if (previous == Token::By || previous == Token::Over) return "the name of a factor";
  // What a statement names itself, …
  static constexpr std::pair<Rule, std::string_view> kOwn[] = {
      {Rule::EnumDecl, "enum"},       {Rule::WorkloadDecl, "workload"},   {Rule::WorkloadUse, "workload"},
      {Rule::SystemDecl, "system"},   {Rule::ReferenceDecl, "reference"}, {Rule::ControlDecl, "control"},
      {Rule::ParamDecl, "parameter"}, {Rule::MetricDecl, "metric"},       {Rule::StudyDecl, "study"},
      {Rule::FactorDecl, "factor"},   {Rule::CompareDecl, "comparison"},  {Rule::CriterionDecl, "criterion"},
      {Rule::PresetDecl, "preset"}};
  // … and what it calls by its name.
  static constexpr std::pair<Rule, std::string_view> kOther[] = {
      {Rule::EnumLevel, "level"},     {Rule::ReferenceItem, "parameter or metric"},
      {Rule::EstimateDecl, "metric"}, {Rule::RecordField, "field"},
      {Rule::Claim, "reference"},     {Rule::MeasureDecl, "metric"},
      {Rule::TableDecl, "metric"},    {Rule::PlotDecl, "metric or comparison"},
      {Rule::Quantifier, "factor"},   {Rule::OnlyClause, "factor"},
      {Rule::FactorNames, "factor"},  {Rule::CriteriaClause, "criterion"}};
  if (rule == Rule::Setting || rule == Rule::DesignItem) return "a setting";
  for (const auto& [named, what] : kOwn)
    if (named == rule) return fmt::format("the {}'s name", what);
  for (const auto& [named, what] : kOther)
    if (named == rule) return fmt::format("the name of a {}", what);
  return "a name";
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
  if (previous == Token::From || previous == Token::Outputs)
    return "where metrics are read, such as json(\"out.json\"),";
  if (previous == Token::Expect) return "what must hold, such as regex(\"all tests passed\"),";
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

}  // namespace

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
      return statement == Rule::Type ? "a type" : nameIn(statement, previous);
    case Rule::Type:
    case Rule::RefinedType:
      return "a type";
    case Rule::Text:
    case Rule::CommandArgument:
    case Rule::InputsDecl:
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

std::string describeStatements(Rule block) {
  switch (block) {
    case Rule::SystemBody:
      return "a property, such as 'gpus = 4',";
    case Rule::ReferenceBody:
      return "a name and what it is read from, such as 'time = column(total_time_s) * 1s',";
    case Rule::KindBody:
      return "a setting, such as 'repeat 10',";
    case Rule::DesignBody:
      return "a setting, such as 'repeat 10', or a kind of trial, such as 'timed { … }',";
    default:
      break;
  }
  std::vector<std::string> heads = language::texts(language::Role::Head, wordsBlock(block));
  if (block == Rule::PresetBody) heads.insert(heads.begin(), "an assignment");
  const std::string last = std::move(heads.back());
  heads.pop_back();
  return fmt::format("a {} ({} or {})",
                     block == Rule::File ? "declaration" : fmt::format("statement of a {}", blockName(block)),
                     fmt::join(heads, ", "), last);
}

}  // namespace expc::parse
