#pragma once

// From the concrete tree to what a file declares besides studies: imports, enums, systems, references, workloads and
// their parts. The struct of the chain (transform_tree.h) between Expressions and Transform. A clause that the grammar
// lets come twice is reported here.

#include <algorithm>
#include <charconv>
#include <climits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "compiler/parse/transform_expressions.h"
#include "compiler/parse/words.h"
#include "runtime/base/format.h"

namespace expc::parse {

EXPC_DIAGNOSTIC(
    UnknownTrait,
    "unknown metric property '{0}'; known: lower, higher, timed, quality, profile, exact, series, distribution, "
    "optional");

struct Declarations : Expressions {
  using Expressions::Expressions;

  /// Reads `a.b = value`; `index` is an assignment, an assigned or a presetDesign that is one.
  ast::Assignment assignment(uint32_t index) {
    ast::Assignment out;
    out.range = range(index);
    for (uint32_t part : children(index)) {
      if (isToken(part, Token::Assign)) break;
      if (isToken(part, Token::Dot)) continue;
      out.target.parts.push_back(isRule(part, Rule::FactorName) ? factorName(part) : identifier(part));
    }
    out.target.range = source::join(out.target.parts.front().range, out.target.parts.back().range);
    out.value = expression(child(index, Rule::Value));
    return out;
  }

  /// `import std.image [as NAME]` or `import "path.exp" [as NAME]`.
  void read(uint32_t index, ast::Import& out) {
    const uint32_t target = children(index)[1];
    out.target_range = range(target);
    if (isRule(target, Rule::Text))
      out.target = ast::StringLiteral{string(target)};
    else
      out.target = qualifiedName(target);
    if (const uint32_t alias = child(index, Rule::Word)) out.alias = identifier(alias);
  }

  /// `[ordered] enum NAME { a, b(type, …) }`.
  void read(uint32_t index, ast::EnumDecl& out) {
    checkCommas(index, "the name of a level");
    out.ordered = has(index, Token::Ordered);
    for (uint32_t level : children(index, Rule::EnumLevel)) {
      checkCommas(level, "a type");
      ast::EnumLevel& entry = out.levels.emplace_back();
      entry.name = identifier(child(level, Rule::Word));
      for (uint32_t field : children(level, Rule::EnumField)) entry.fields.push_back(enumField(field));
    }
  }

  /// Reads `type` or `name : type`. The grammar reads a type in both places, since a name looks like one.
  ast::EnumField enumField(uint32_t index) {
    const std::vector<uint32_t> types = children(index, Rule::RefinedType);
    ast::EnumField out;
    out.type = std::make_unique<ast::TypeExpr>(type(types.back()));
    if (types.size() == 1) return out;
    const ast::TypeExpr before = type(types[0]);
    if (before.shape == ast::TypeExpr::Shape::Named && before.name.parts.size() == 1 && before.per.empty() &&
        !before.refinement)
      out.name = before.name.parts[0];
    else
      reporter.syntaxError(before.range, "a single name before ':'");
    return out;
  }

  /// Reads the value of a `let`, of a unit or of a name in a reference.
  void read(uint32_t index, ast::LetDecl& out) {
    out.value = expressionIn(index, isRule(index, Rule::ReferenceItem) ? Rule::Sum : Rule::Value);
  }

  void read(uint32_t index, ast::SystemDecl& out) {
    for (uint32_t property : statements(child(index, Rule::SystemBody), Rule::SystemItem))
      out.properties.push_back(assignment(property));
  }

  /// `reference NAME from "file.csv" { … }` with an entry `NAME [= EXPRESSION]` for each name.
  void read(uint32_t index, ast::ReferenceDecl& out) {
    out.path = textOf(child(index, Rule::Text));
    for (uint32_t column : statements(child(index, Rule::ReferenceBody), Rule::ReferenceItem))
      add(*this, column, out.columns);
  }

  // ---- workloads

  /// Whether `text` begins, after blanks, with the call of a reader of metrics, such as `regex(`.
  static bool beginsReader(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    return std::ranges::any_of(words::words(words::Role::Source), [&](const words::Word& reader) {
      return text.starts_with(std::string(reader.text) + "(");
    });
  }

  /// The name behind `use` or `service`.
  void read(uint32_t index, ast::NamedUse& out) { out.name = qualifiedName(child(index, Rule::Name)); }

  /// The program and items of a workload or a service. Each list keeps the order of the text.
  void read(uint32_t index, ast::WorkloadDecl& out) {
    if (const uint32_t command = child(index, Rule::CommandDecl)) out.command = program(command);
    uint32_t limit = child(index, Rule::TimeoutDecl);
    // Behind the workload's name the limit is a part of the command.
    if (limit) out.command->range = source::join(out.command->range, range(limit));
    const uint32_t service = child(index, Rule::ServiceBody);
    for (uint32_t item : service ? statements(service, Rule::ServiceItem)
                                 : statements(child(index, Rule::WorkloadBody), Rule::WorkloadItem)) {
      const auto take = taking(*this, item);
      take(Rule::ServiceUse, out.services);
      take(Rule::ParamDecl, out.params);
      take(Rule::LetDecl, out.lets);
      take(Rule::MetricDecl, out.metrics);
      take(Rule::EstimateDecl, out.estimates);
      take(Rule::RuleDecl, out.rules);
      if (isRule(item, Rule::VersionDecl)) versionDecl(item, out);
      if (isRule(item, Rule::InputsDecl)) inputsDecl(item, out);
      if (isRule(item, Rule::ExpectDecl)) out.expectations.push_back(expressionIn(item, Rule::Condition));
      if (isRule(item, Rule::ExitDecl)) exitDecl(item, out);
      // Clauses that may be given once.
      const auto once = [&](Rule rule, auto& clause, const char* what, auto read) {
        if (isRule(item, rule) && clause) duplicate(item, what, clause->range);
        if (isRule(item, rule) && !clause) clause = read();
      };
      const auto command = [&] { return program(item); };
      if (isRule(item, Rule::TimeoutDecl) && limit) duplicate(item, "the timeout", range(limit));
      if (isRule(item, Rule::TimeoutDecl) && !limit) limit = item;
      once(Rule::CommandDecl, out.command, "the command", command);
      once(Rule::OutputsDecl, out.outputs, "the source of metrics", [&] { return expressionIn(item, Rule::Sum); });
      once(Rule::PrepareDecl, out.prepare, "the preparation", command);
      once(Rule::BeforeDecl, out.before, "the command before each start", command);
      once(Rule::RanksDecl, out.ranks, "the number of processes", [&] { return identifier(child(item, Rule::Word)); });
      once(Rule::ReadyDecl, out.ready, "how it shows that it is ready", [&] { return ready(item); });
    }
    if (limit && !out.command) reporter.syntaxError(range(limit), "'command' beside 'timeout'");
    if (limit && out.command) out.command->timeout = expressionIn(limit, Rule::Sum);
  }

  /// Reads a program with its arguments, and the time limit of a preparation: `prepare ["make"] timeout 2h`.
  ast::Command program(uint32_t index) {
    ast::Command out;
    out.range = range(index);
    const uint32_t texts = child(index, Rule::TextList);
    checkCommas(texts, "a text in double quotes");
    for (uint32_t argument : children(texts, Rule::CommandArgument)) out.arguments.push_back(commandArgument(argument));
    out.timeout = expressionIn(index, Rule::Sum);
    if (!out.timeout) return out;
    // On a line of its own it looks like the command's.
    const uint32_t limit = child(index, Token::Timeout);
    const source::Range between{tree.file, node(texts).end, node(limit).begin};
    const std::string_view blanks = sources.text(between);
    if (blanks.find('\n') != std::string_view::npos && blanks.find_first_not_of(" \t\r\n") == std::string_view::npos)
      reporter
          .deprecated(range(limit), "'timeout' after 'prepare'",
                      "write the preparation's timeout on the line where it ends")
          .fix(between, " ");
    return out;
  }

  /// Reads `ready http("/health") timeout 5min`.
  ast::Ready ready(uint32_t index) {
    const std::vector<uint32_t> sums = children(index, Rule::Sum);
    return {range(index), expression(sums[0]), sums.size() > 1 ? expression(sums[1]) : nullptr};
  }

  /// Reads one argument: a text, or `options` with the texts that each parameter without an argument of its own
  /// becomes.
  ast::CommandArgument commandArgument(uint32_t index) {
    ast::CommandArgument out;
    out.range = range(index);
    for (uint32_t text : children(index, Rule::Text)) out.texts.push_back(textOf(text));
    out.options = has(index, Token::Options);
    return out;
  }

  /// Reads `inputs "a", "b"` and `inputs copy "a"`.
  void inputsDecl(uint32_t index, ast::WorkloadDecl& workload) {
    std::vector<ast::Text>& list = has(index, Token::Copy) ? workload.copied : workload.inputs;
    for (uint32_t input : children(index, Rule::Text)) list.push_back(textOf(input));
  }

  void versionDecl(uint32_t index, ast::WorkloadDecl& workload) {
    if (workload.version) return duplicate(index, "the version", workload.version_range);
    workload.version = wholeNumber(child(index, Rule::Number), INT_MAX, "a whole number after 'version'");
    if (workload.version) workload.version_range = range(index);
  }

  /// Reads the exit codes that count as success: `exit 0, 1`.
  void exitDecl(uint32_t index, ast::WorkloadDecl& workload) {
    if (!workload.exit_codes.empty()) return duplicate(index, "the list of exit codes", workload.exit_range);
    for (uint32_t number : children(index, Rule::Number))
      if (const auto code = wholeNumber(number, 255, "exit codes from 0 to 255")) workload.exit_codes.push_back(*code);
    workload.exit_range = range(index);
  }

  /// Reads a whole number up to `most`; reports anything else as `wanted` and returns nothing.
  std::optional<int> wholeNumber(uint32_t literal, int most, const char* wanted) {
    const std::string_view written = text(literal);
    int number = 0;
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), number);
    if (error == std::errc() && end == written.data() + written.size() && number <= most) return number;
    reporter.syntaxError(range(literal), wanted);
    return std::nullopt;
  }

  /// `param NAME : TYPE [= DEFAULT | inside [from SOURCE]] [when CONDITION] [with strong scaling when CONDITION]`. The
  /// words of the trait are names to the grammar.
  void read(uint32_t index, ast::ParamDecl& out) {
    out.type = type(child(index, Rule::RefinedType));
    out.value = expressionIn(index, Rule::Value);
    out.inside = has(index, Token::Inside);
    if (const uint32_t source = child(index, Rule::MetricSource)) out.inside_source = expressionIn(source, Rule::Sum);
    out.when = expressionIn(index, Rule::Condition);
    const uint32_t trait = child(index, Rule::ParamTrait);
    if (!trait) return;
    const std::vector<uint32_t> words = children(trait, Rule::Word);
    if (text(words[0]) == "strong" && text(words[1]) == "scaling")
      out.strong = expressionIn(trait, Rule::Condition);
    else
      reporter.syntaxError(source::join(range(words[0]), range(words[1])), "'strong scaling' after 'with'");
  }

  void read(uint32_t index, ast::EstimateDecl& out) {
    out.value = expressionIn(index, Rule::Value);
    out.when = expressionIn(index, Rule::Condition);
  }

  /// `metric NAME [: TYPE] [= FORMULA] TRAITS [from SOURCE]`; `metric NAME.*` takes all metrics of a module.
  void read(uint32_t index, ast::MetricDecl& out) {
    out.all = has(index, Token::Star);
    if (const uint32_t of = child(index, Rule::RefinedType)) out.type = type(of);
    out.derived = expressionIn(index, Rule::Value);
    if (const uint32_t over = child(index, Rule::OverFactors))
      reporter.syntaxError(range(over), "the end of the metric: only a study aggregates over factors");
    for (uint32_t trait : children(index, Rule::MetricTrait)) metricTrait(trait, out);
    for (uint32_t source : children(index, Rule::MetricSource)) metricSource(source, out);
    if (out.type && out.type->per.empty() && out.type->name.parts.size() == 1 &&
        out.type->name.parts[0].name == "Series")
      oldSeries(out);
  }

  /// `Series` was a series of plain numbers.
  void oldSeries(ast::MetricDecl& metric) {
    ast::Identifier& name = metric.type->name.parts[0];
    const std::string rest(sources.text({tree.file, name.range.end, metric.type->range.end}));
    const std::string written = "float" + rest + (metric.series ? "" : " series");
    reporter.deprecated(name.range, "the type 'Series'", fmt::format("write '{}'", written))
        .fix(metric.type->range, written);
    name.name = "float";
    metric.series = true;
  }

  /// Reads `from regex("…")`: how the metric is read from what a command writes.
  void metricSource(uint32_t index, ast::MetricDecl& metric) {
    if (metric.source) return duplicate(index, "the source of the metric", metric.source->range);
    metric.source = expressionIn(index, Rule::Sum);
  }

  /// Reads a word about the metric: its direction, kind of trial, `exact`, `series`, `distribution` or `optional`. The
  /// grammar takes any word here.
  void metricTrait(uint32_t index, ast::MetricDecl& metric) {
    const std::string_view word = text(index);
    if (word == "lower" || word == "higher") {
      if (metric.direction) return duplicate(index, "the direction", metric.direction->range);
      metric.direction = identifier(index);
    } else if (words::find(words::Role::Kind, word)) {
      if (metric.kind) return duplicate(index, "the kind of trial", metric.kind->range);
      metric.kind = identifier(index);
    } else if (word == "exact") {
      metric.exact = true;
    } else if (word == "series") {
      metric.series = true;
    } else if (word == "distribution") {
      metric.distribution = true;
    } else if (word == "optional") {
      metric.optional = true;
    } else if (sources.text(tree.file).substr(node(index).end).starts_with("(")) {
      return;  // `regex(…)` without `from`: the parser reported the bracket
    } else if (beginsReader(sources.text(tree.file).substr(node(index).end)) && diag::closest(word, {"from"})) {
      return;  // `form regex(…)`: a misspelt `from`, reported likewise
    } else {
      reporter.emit(range(index), UnknownTrait, word).suggest(range(index), word, words::texts(words::Role::Trait));
    }
  }

  /// Builds the condition of a rule. A record, `{ os = rhel, size = 1 }`, asks for all of its levels.
  ast::ExprPtr rule(uint32_t index) {
    Built out = build(index);
    auto* record = out.expr->as<ast::RecordExpr>();
    if (out.expr->as<ast::SetExpr>())
      reporter.syntaxError(out.expr->range, "a condition, or levels with their names, as in { size = 1 }");
    if (!record) return out.expr;
    Built all;
    for (const ast::CallArgument& field : record->fields) {
      Built name = make(field.name->range, ast::NameExpr{{{*field.name}, field.name->range}}, 1);
      Built equal = binary(ast::BinaryOp::Equal, std::move(name), {field.value, out.depth});
      all = all.expr ? binary(ast::BinaryOp::And, std::move(all), std::move(equal)) : std::move(equal);
    }
    return all.expr;
  }

  /// `require [NAME:] CONDITION [because "…"]`, or `exclude` likewise.
  void read(uint32_t index, ast::RuleDecl& out) {
    out.kind = has(index, Token::Require) ? ast::RuleKind::Require : ast::RuleKind::Exclude;
    const std::vector<uint32_t> conditions = children(index, Rule::Value);
    if (conditions.size() == 2) out.name = asName(*expression(conditions[0]), ":");
    out.condition = rule(conditions.back());
    if (const uint32_t because = child(index, Rule::Text)) out.because = string(because);
  }
};

}  // namespace expc::parse
