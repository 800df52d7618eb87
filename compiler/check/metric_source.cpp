// Determines where the numbers of a command are read: `from`, `outputs` and `expect`. Each is a call of a
// reader (regex, json, csv, stdout, size, same), perhaps inside a reduction (median, last, …), and becomes a
// plan::CommandMetric: a file, a place in it, and the factor to base units.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <utility>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "compiler/check/tool_formats.h"
#include "compiler/parse/parse.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/command.h"
#include "runtime/plan/trial_report.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MetricSourceShape, "cannot read a number this way: {0}");
EXPC_DIAGNOSTIC(MissingSource, "the command's metric '{0}' has no source to read it from");

using From = plan::CommandMetric::From;
using Source = std::optional<plan::CommandMetric>;

/// The number that is to be read.
struct Wanted {
  /// The metric's name; "" for an expectation, "name" for `outputs` by itself.
  std::string name;
  Dimension dimension;
  bool series = false;
  /// Whether it is an expectation, which may use `same`.
  bool expected = false;
  /// Whether a number is read; an expectation without a bound only wants a match.
  bool number = true;
  bool optional = false;
  /// The workload's `outputs`, which gives a file that the reader does not name; may be null.
  const ast::Expr* outputs = nullptr;
  /// Whether a text is read, which names a level.
  bool text = false;
  /// Whether the series is kept as a sketch; values at its ends are left out where it is read.
  bool distribution = false;
};

/// Refuses a way to read, with examples of all readers.
diag::Refusal refuse(WorkloadScope& of, source::Range range, std::string_view why) {
  return of.emitter.emit(range, MetricSourceShape, why)
      .note(
          "write 'regex(\"step ([0-9.]+) ms\", unit = 1ms)', 'json(\"out.json\", \"/time\", unit = 1s)', "
          "'csv(\"log.csv\", column = \"loss\")', 'size(\"out\")', 'stdout', or 'trial' for a value that the program "
          "reports itself");
}

/// The file that an argument names: a text, or the file to which the runtime writes a stream of the program.
std::optional<std::string> fileOf(const ast::Expr& expr) {
  if (auto* text = expr.as<ast::StringLiteral>()) return text->value;
  auto* name = expr.as<ast::NameExpr>();
  const std::string word = name ? joined(name->name) : "";
  if (word == "stdout" || word == "stderr") return word + ".txt";
  return std::nullopt;
}

/// The file of `outputs`, if that is a call of the same reader.
std::optional<std::string> outputsFile(const ast::Expr* outputs, std::string_view reader) {
  auto* call = outputs ? outputs->as<ast::CallExpr>() : nullptr;
  if (!call || joined(call->callee) != reader || call->arguments.empty()) return std::nullopt;
  return fileOf(*call->arguments[0].value);
}

/// The names of the groups of a pattern, as in `(?<size>[0-9]+)`.
std::vector<std::string> groupsOf(StringRef pattern) {
  std::vector<std::string> names;
  for (size_t at = pattern.find("(?"); at != pattern.npos; at = pattern.find("(?", at + 1)) {
    StringRef rest = pattern.drop_front(at + 2);
    rest.consume_front("P");
    if (!rest.consume_front("<") || rest.starts_with("=") || rest.starts_with("!")) continue;
    names.push_back(rest.split('>').first.str());
  }
  return names;
}

/// A way to read a number.
struct Reader {
  std::string_view word;
  From from;
  /// How many positional texts it takes once defaults are filled in.
  size_t texts;
  /// Its texts in words, for messages.
  std::string_view takes;
  /// The arguments with names that it accepts.
  std::vector<std::string> named;
};

/// The word for what a program reports by `import expc`: the members of a file of JSON lines with a fixed name.
constexpr std::string_view kTrial = "trial";

const std::vector<Reader> kReaders = {
    {"regex", From::Regex, 1, "a pattern", {"unit", "file"}},
    {"json", From::Json, 2, "a file and a JSON pointer", {"unit"}},
    {"csv", From::Csv, 2, "a file and a column", {"unit", "column"}},
    {"stdout", From::Lines, 0, "no text: its last line is the number", {"unit"}},
    {kTrial, From::Json, 2, "no text: the program reports its value with expc.trial().metric()", {"unit"}},
    {"size", From::Size, 1, "a file or folder", {}},
    {"same", From::Same, 2, "the written file and the file that it must equal", {}}};

/// Checks one call. `texts`, `named` and `scale` collect its arguments.
struct SourceChecker {
  /// The workload, whose parameters may stand in texts as `${name}`.
  WorkloadScope& of;
  ModuleScope& scope;
  Wanted wanted;
  /// The positional texts, by and by completed from defaults.
  std::vector<std::string> texts = {};
  /// The file or the column that is given by name.
  std::string named = {};
  /// The size in base units of one unit that is read.
  Rational scale = 1;
  /// Whether `outputs` is read by itself, for all metrics.
  bool whole = false;
  /// The values that a distribution takes.
  plan::Reduction taken = {};

  /// Reads one call; nothing after a report.
  Source read(const ast::Expr& expr) {
    static const ast::CallExpr kBare;
    auto* name = expr.as<ast::NameExpr>();
    auto* call = expr.as<ast::CallExpr>();
    if (!name && !call) return refuse(of, expr.range, "this is not a way to read a number");
    const ast::QualifiedName& callee = name ? name->name : call->callee;
    const std::string word = joined(callee);
    if (call && isReduction(word)) return oneOf(expr, *call);
    if (const ToolFormat* tool = call && !wanted.expected ? findToolFormat(word) : nullptr)
      return columnOf(expr, *call, *tool);
    const auto reader = std::ranges::find(kReaders, word, &Reader::word);
    const bool known = reader != kReaders.end() && (call || reader->from == From::Lines || word == kTrial) &&
                       (wanted.expected || reader->from != From::Same);
    if (!known && name && reader != kReaders.end())
      return refuse(of, expr.range, fmt::format("'{}' takes {}, in brackets", word, reader->takes));
    if (!known) return unknown(callee.range, word);
    // A reduction calls `read` again for the reader inside it.
    texts.clear();
    named.clear();
    scale = 1;
    if (!collect(call ? *call : kBare, *reader) || !complete(expr.range, *reader)) return std::nullopt;
    if (texts.size() != reader->texts)
      return refuse(of, expr.range, fmt::format("'{}' takes {}", reader->word, reader->takes));
    // A CommandMetric has a file and a place in it. For regex the file is a named argument and the pattern the
    // place.
    texts.resize(2);
    if (!suits(expr.range, reader->from)) return std::nullopt;
    if (reader->from == From::Regex) texts = {named, texts[0]};
    if (reader->from == From::Same && !plan::parametersIn(texts[1]).empty())
      return refuse(of, expr.range, "a file of the study has one name at all points");
    // The expected file is the author's, relative to the study; the written one lies in the trial's folder.
    if (reader->from == From::Same) texts[1] = load::relativeTo(scope.file->directory, texts[1]);
    plan::CommandMetric made = metricOf(reader->from, texts[0], texts[1]);
    if (reader->from == From::Regex && !group(expr.range, made)) return std::nullopt;
    return made;
  }

  plan::CommandMetric metricOf(From from, const std::string& file, const std::string& where) const {
    plan::CommandMetric made{wanted.name, from, file, where, scale.toDouble(), wanted.series, {}, wanted.optional};
    made.distribution = wanted.distribution;
    if (wanted.distribution && taken != plan::Reduction()) made.take = taken;
    return made;
  }

  /// Takes the group of a metric's name from a pattern with several: each match is a row.
  bool group(source::Range range, plan::CommandMetric& made) {
    const std::vector<std::string> names = groupsOf(made.where);
    if (names.size() < 2 || wanted.expected || whole) return true;
    if (!is_contained(names, wanted.name))
      return refuse(of, range,
                    fmt::format("the pattern has the groups {}, and none for '{}'", diag::list(names), wanted.name));
    made.group = wanted.name;
    return true;
  }

  /// Reads a column of another program's format: `nccl_tests(stdout)`, `fio("out.json", column = "iops")`.
  Source columnOf(const ast::Expr& expr, const ast::CallExpr& call, const ToolFormat& tool) {
    texts.clear();
    named.clear();
    scale = 1;
    if (!collect(call, {tool.word, tool.from, 1, "a file, or stdout", {"unit", "column"}})) return std::nullopt;
    if (texts.empty())
      if (auto file = outputsFile(wanted.outputs, tool.word)) texts.push_back(std::move(*file));
    if (texts.size() != 1) return refuse(of, expr.range, fmt::format("'{}' takes a file, or stdout", tool.word));
    if (whole) return plan::CommandMetric{};
    const std::string name = named.empty() ? wanted.name : named;
    plan::CommandMetric made = metricOf(tool.from, texts[0], "");
    const ToolColumn* column = tool.find(name);
    if (!column && (tool.others.empty() || tool.from == From::Regex)) {
      std::vector<std::string> names;
      for (const ToolColumn& one : tool.columns) names.emplace_back(one.name);
      return diag::unknownName(of.emitter, expr.range, "column", name, names, fmt::format(" of {}", tool.word));
    }
    made.where = tool.from == From::Regex ? tool.others : column ? column->where : tool.others;
    if (tool.from == From::Regex) made.group = name;
    if (!column) replaceAll(made.where, "{name}", name);
    if (!column) return made;
    made.part = column->part;
    made.units = column->units;
    const auto unit = findUnit(column->unit, nullptr);
    if (wanted.text) return made;
    if (unit->dimension != wanted.dimension && !(unit->dimension.isPure() && wanted.dimension.isPure()))
      return of.emitter.emit(expr.range, UnitMismatch, fmt::format("'{}' of {}", name, tool.word),
                             unit->dimension.typeName(), fmt::format("'{}'", wanted.name), wanted.dimension.typeName());
    if (!(scale == Rational(1)))
      return refuse(of, expr.range, fmt::format("'{}' says the unit of '{}' itself", tool.word, name));
    made.scale = unit->scale.toDouble() * column->scale;
    return made;
  }

  /// Reports an unknown reader, with those that are possible here as candidates.
  diag::Refusal unknown(source::Range range, const std::string& word) {
    if (const plan::Outside* seen = plan::seenFromOutside(word))
      return of.emitter.emit(
          range, MetricSourceShape,
          fmt::format("expc measures '{0}' of every program: declare 'metric {0} : {1}', without 'from'", seen->name,
                      seen->type));
    std::vector<std::string> names;
    for (const Reader& reader : kReaders)
      if (wanted.expected || reader.from != From::Same) names.emplace_back(reader.word);
    if (!wanted.expected) {
      for (const ToolFormat& tool : toolFormats()) names.emplace_back(tool.word);
      for (const plan::Outside& seen : plan::kSeenFromOutside) names.emplace_back(seen.name);
    }
    std::ranges::move(words::texts(words::Role::Taken), std::back_inserter(names));
    return diag::unknownName(of.emitter, range, "way to read a number", word, names);
  }

  /// Reads a reduction of several numbers to one: `median(json("out.json", "/times"))`.
  Source oneOf(const ast::Expr& expr, const ast::CallExpr& call) {
    const std::string word = joined(call.callee);
    const auto positional = [](const ast::CallArgument& argument) { return !argument.name; };
    const auto take = of.context.reduction(call, expr.range, {&scope});
    if (!take) return std::nullopt;
    if (std::ranges::count_if(call.arguments, positional) != 1)
      return refuse(of, expr.range, fmt::format("'{}' takes one way to read numbers", word));
    if (wanted.series)
      return refuse(of, expr.range,
                    fmt::format("a {} keeps all numbers, so '{}' has no effect",
                                wanted.distribution ? "distribution" : "series", word));
    const bool counts = take->take == plan::Reduction::Take::Count;
    if (counts && !wanted.dimension.isPure())
      return of.emitter.emit(expr.range, UnitMismatch, "a count", "a number",
                             wanted.expected ? "the other side" : fmt::format("'{}'", wanted.name),
                             wanted.dimension.typeName());
    const bool number = std::exchange(wanted.number, wanted.number && !counts);
    auto source = read(*std::ranges::find_if(call.arguments, positional)->value);
    wanted.number = number;
    if (!source) return std::nullopt;
    if (source->take || source->from == From::Size || source->from == From::Same)
      return refuse(of, expr.range, fmt::format("'{}' takes a source of several numbers", word));
    if (counts && source->scale != 1) return refuse(of, expr.range, "a count has no unit");
    source->take = take;
    return source;
  }

  /// Sorts the arguments into `texts`, `named` and `scale`.
  bool collect(const ast::CallExpr& call, const Reader& reader) {
    for (const ast::CallArgument& argument : call.arguments) {
      const std::string name = argument.name ? argument.name->name : "";
      if (wanted.distribution && (name == "skip" || name == "first" || name == "last")) {
        if (!of.context.selection(argument, reader.word, {&scope}, taken)) return false;
        continue;
      }
      if (argument.name && !is_contained(reader.named, name))
        return diag::unknownName(of.emitter, argument.name->range, "argument", name, reader.named);
      if (name == "unit") {
        if (!unit(*argument.value)) return false;
        continue;
      }
      auto text = fileOf(*argument.value);
      if (!text) {
        return refuse(of, argument.value->range, fmt::format("'{}' takes texts here", reader.word));
      }
      if (!placeholders(argument.value->range, *text)) return false;
      if (argument.value->as<ast::StringLiteral>() && (*text == "stdout" || *text == "stderr"))
        return of.emitter
            .emit(argument.value->range, MetricSourceShape, fmt::format("'{}' in quotes is a file of that name", *text))
            .fix(argument.value->range, *text);
      if (name.empty())
        texts.push_back(std::move(*text));
      else
        named = std::move(*text);
    }
    return true;
  }

  /// Sets `scale` from `unit = 1ms`.
  bool unit(const ast::Expr& expr) {
    auto value = of.context.constant(expr, {&scope}, Type::number(wanted.dimension), "the unit");
    if (!value) return false;
    scale = *value->asNumber();
    if (scale.sign() <= 0) refuse(of, expr.range, "a unit must be above zero");
    return scale.sign() > 0;
  }

  /// Fills in defaults of json and csv: the file of `outputs`, and as the place in it the metric's name.
  bool complete(source::Range range, const Reader& reader) {
    if (reader.word == kTrial) {
      if (!texts.empty()) return true;  // refused for its texts
      texts = {plan::kTrialFile, "/" + wanted.name};
      return !wanted.name.empty() || refuse(of, range, "an expectation has no name that a program could report");
    }
    const bool json = reader.from == From::Json;
    if (!json && reader.from != From::Csv) return true;
    // A single text that begins with '/' is a pointer, so the file is missing; a csv file is missing without
    // any text.
    if (json ? texts.size() == 1 && texts[0].starts_with("/") : texts.empty()) {
      auto file = outputsFile(wanted.outputs, reader.word);
      if (file) texts.insert(texts.begin(), std::move(*file));
      if (json && texts.size() == 1) {
        return refuse(of, range, "'json' needs a file, but 'outputs' names none");
      }
    }
    if (texts.size() == 1 && !named.empty()) texts.push_back(named);
    if (texts.size() == 1 && !wanted.name.empty()) texts.push_back((json ? "/" : "") + wanted.name);
    return true;
  }

  /// Whether the texts fit their reader: a group in a pattern, a JSON pointer, Bytes for a size.
  bool suits(source::Range range, From from) {
    const bool grouped = from != From::Regex || !wanted.number || texts[0].find('(') != std::string::npos;
    if (!grouped) refuse(of, range, "the pattern needs a group '(…)' around the number");
    const bool pointer = from != From::Json || texts[1].empty() || texts[1][0] == '/';
    if (!pointer) refuse(of, range, "a JSON pointer begins with '/'");
    const bool bytes = from != From::Size || !wanted.number || wanted.dimension == Dimension::of(Dimension::Bytes);
    if (!bytes)
      of.emitter.emit(range, UnitMismatch, "the size of a file", "Bytes",
                      wanted.expected ? "the other side" : fmt::format("'{}'", wanted.name),
                      wanted.dimension.typeName());
    return grouped && pointer && bytes;
  }

  /// Checks each `${name}` of a text, which stands for the value of a parameter as it does in arguments (plan::readAt).
  bool placeholders(source::Range literal, const std::string& text) {
    for (const std::string& name : plan::parametersIn(text)) {
      const size_t at = text.find("${" + name) + 2;
      const source::Range range = parse::writtenRange(of.context.sources, literal, at, at + name.size());
      const int index = of.workload.findParameter(name);
      if (index < 0) return diag::unknownName(of.emitter, range, "parameter", name, namesOf(of.workload.parameters));
      const Parameter& parameter = of.workload.parameters[index];
      if (parameter.inside) {
        badInside(of.emitter, range, name, "stands in what is read once for all of its levels");
        return false;
      }
      if (parameter.when)
        return refuse(of, range, fmt::format("'{}' has no value where its 'when' does not hold", name));
    }
    return true;
  }
};

/// Whether the runtime measures this metric for any program that it starts. Names and dimensions must match.
bool seenFromOutside(const Metric& metric) {
  const plan::Outside* seen = plan::seenFromOutside(metric.name);
  return seen && metric.dimension.typeName() == seen->type && (seen->sampled || !metric.series);
}

}  // namespace

std::vector<ast::MetricDecl> withSeen(const ast::WorkloadDecl& workload) {
  std::vector<ast::MetricDecl> all = workload.metrics;
  for (size_t i = 0; i < all.size() && workload.command; ++i) {
    const ast::Identifier* word = all[i].source ? wordOf(*all[i].source) : nullptr;
    const plan::Outside* seen = word ? plan::seenFromOutside(word->name) : nullptr;
    const bool complete = all[i].type && all[i].direction && !all[i].derived && !all[i].series && !all[i].optional;
    if (!seen || !complete) continue;
    const ast::ExprPtr source = std::exchange(all[i].source, nullptr);
    if (all[i].name.name == seen->name) continue;
    ast::MetricDecl measured = all[i];
    all[i].derived = source;
    if (base::findNamed(all, std::string_view(seen->name)) >= 0) continue;
    measured.name = {seen->name, source->range};
    measured.type = ast::TypeExpr();
    measured.type->name = {{{seen->type, source->range}}, source->range};
    all.push_back(std::move(measured));
  }
  return all;
}

bool checkOutputsClause(WorkloadScope& of, const ast::Expr& source) {
  if (!of.declaration.command && &source != of.declaration.outputs.get())
    return refuse(of, source.range, "only the metrics of a command are read with 'from'");
  // `name` stands for every metric's name in the place of `outputs`.
  Wanted wanted;
  wanted.name = "name";
  auto* call = source.as<ast::CallExpr>();
  for (size_t i = 0; call && i < call->arguments.size(); ++i) {
    const ast::CallArgument& argument = call->arguments[i];
    if (argument.name && argument.name->name == "unit") {
      return refuse(of, argument.name->range, "each metric has its own unit: write it in the metric's 'from'");
    }
  }
  SourceChecker checker{of, of.scope, std::move(wanted)};
  checker.whole = true;
  return checker.read(source).has_value();
}

/// Whether both read the same table, so that their rows are the same.
static bool readsRowsOf(const plan::CommandMetric& key, const plan::CommandMetric& column) {
  if (key.from != column.from || key.file != column.file) return false;
  if (key.from == From::Regex) return key.where == column.where;
  if (key.from != From::Json) return true;
  StringRef below = column.where;
  return below.consume_front(plan::rowsIn(key.where)) && (below.empty() || below.front() == '/');
}

std::optional<plan::CommandMetric> checkInside(WorkloadScope& of, const ast::ParamDecl& declaration) {
  const std::string& name = declaration.name.name;
  const std::vector<Parameter>& parameters = of.workload.parameters;
  const Parameter& parameter = parameters[of.workload.findParameter(name)];
  const Type& type = parameter.type;
  const bool number = type.isNumber();
  const auto bad = [&](std::string_view why) {
    badInside(of.emitter, declaration.name.range, name, why);
    return std::nullopt;
  };
  if (type.isError()) return std::nullopt;
  if (!of.declaration.command) return bad("is one of a workload without a command");
  if (name == "gpus" || name == "nodes" || name == "numa") return bad("decides on which devices a process runs");
  if (declaration.value) return bad("has a default, but a study lists its levels");
  if (parameter.when) return bad("has a 'when', but every process goes through its levels");
  const bool levels = type.isEnum() && std::ranges::all_of(type.enumeration->levels,
                                                           [](const auto& level) { return level.fields.empty(); });
  if (!number && !levels && type.kind != Type::Kind::String && type.kind != Type::Kind::Bool)
    return bad("must be a number, a text, a bool or an enum without fields");
  for (const Parameter& other : parameters)
    if (other.when && is_contained(parametersOf(*other.when), unsigned(&parameter - parameters.data())))
      return bad(fmt::format("decides in 'when' whether '{}' exists, which a process has once", other.name));
  if (!declaration.inside_source && !of.declaration.outputs)
    return bad("does not say where rows name its levels: write 'inside from csv(\"out.csv\")', or 'outputs' for all");
  Wanted wanted{name, number ? type.dimension : Dimension()};
  wanted.text = !number;
  wanted.number = number;
  wanted.outputs = of.declaration.outputs.get();
  const ast::Expr& source = declaration.inside_source ? *declaration.inside_source : *of.declaration.outputs;
  auto key = SourceChecker{of, of.scope, std::move(wanted)}.read(source);
  if (!key) return std::nullopt;
  replaceAll(key->where, "{name}", name);
  const bool table = key->from == From::Json || key->from == From::Csv || !key->group.empty();
  if (key->take || !table) return bad("must be read from rows: of a table, of JSON, or of a pattern with named groups");
  key->row = true;
  key->text = !number;
  for (const Parameter& other : parameters)
    if (other.inside && !readsRowsOf(*other.inside, *key))
      return bad(fmt::format("is named in other rows than '{}'", other.name));
  return key;
}

void takeRows(const Workload& of, Metric& metric) {
  const auto key = std::ranges::find_if(of.parameters, [](const Parameter& one) { return one.inside.has_value(); });
  metric.of_process = true;
  if (key == of.parameters.end() || !metric.source) return;
  metric.source->row = readsRowsOf(*key->inside, *metric.source);
  metric.of_process = !metric.source->row;
}

bool checkMetricSource(WorkloadScope& of, ModuleScope& scope, const ast::MetricDecl& declaration, Metric& metric,
                       const ast::Expr* all) {
  const size_t before = of.context.problems();
  const bool command = of.declaration.command.has_value();
  const ast::Expr* outputs = all ? all : of.declaration.outputs.get();
  Wanted wanted{metric.name, metric.dimension, metric.series, false, true, declaration.optional, outputs};
  wanted.distribution = metric.distribution;
  SourceChecker checker{of, scope, std::move(wanted)};
  if (metric.distribution && !command)
    refuse(of, metric.range, "only a metric of a command can be a distribution: a sketch of its output is kept");
  if (declaration.optional && !command)
    refuse(of, metric.range,
           "only a metric of a command can be optional, because only a command's output may lack a value");
  if (declaration.source) {
    if (command)
      metric.source = checker.read(*declaration.source);
    else
      refuse(of, declaration.source->range, "only the metrics of a command are read with 'from'");
    return of.context.problems() == before;
  }
  // A metric without `from` is observed from outside, or `outputs` reads it at its own name.
  if (outputs && declaration.optional && seenFromOutside(metric))
    refuse(
        of, metric.range,
        fmt::format("'{}' would be measured from outside and not read by 'outputs', which an optional metric suggests; "
                    "write its 'from'",
                    metric.name));
  if (!command || seenFromOutside(metric)) return of.context.problems() == before;
  if (outputs) {
    metric.source = checker.read(*outputs);
    if (!metric.source) return false;
    replaceAll(metric.source->where, "{name}", metric.name);
    return of.context.problems() == before;
  }
  of.emitter.emit(metric.range, MissingSource, metric.name)
      .note(
          "write 'from regex(…)', 'from json(…)', 'from csv(…)' or 'from trial' after it, or 'outputs json(…)' for "
          "all; without a source, expc measures only {0}",
          plan::seenFromOutsideText());
  return false;
}

std::optional<plan::Expectation> checkExpectation(WorkloadScope& of, const ast::Expr& expr) {
  Wanted wanted;
  wanted.expected = true;
  wanted.outputs = of.declaration.outputs.get();
  plan::Expectation expectation;
  auto* unary = expr.as<ast::UnaryExpr>();
  const bool forbidden = unary && unary->op == ast::UnaryOp::Not;
  const ast::Expr& condition = forbidden ? *unary->operand : expr;
  // `size("out") <= 1MB` compares a number; a bare reader is an expectation that something matches.
  auto* binary = condition.as<ast::BinaryExpr>();
  const auto relation = binary ? relationOf(opOf(binary->op)) : std::nullopt;
  if (relation) {
    auto limit = of.context.number(*binary->right, {&of.scope}, "an expectation");
    if (!limit) return std::nullopt;
    wanted.dimension = std::get<Value::Number>(limit->node).dimension;
    expectation.bound = boundOf(*relation, *limit->asNumber(), of.context.written(binary->right->range));
  }
  wanted.number = relation.has_value();
  auto source = SourceChecker{of, of.scope, std::move(wanted)}.read(relation ? *binary->left : condition);
  if (!source) return std::nullopt;
  if (forbidden && (relation || source->from != From::Regex || source->take))
    return refuse(of, expr.range, "'not' goes before a pattern that must not occur, as in 'not regex(\"ERROR\")'");
  // A pattern that must not occur is one that occurs no times.
  if (forbidden) {
    source->take = plan::Reduction::Take::Count;
    expectation.bound = boundOf(Relation::Equal, 0, "0");
  }
  // A bare reader is a condition only if it can match or compare; a number needs a relation.
  const bool truth = source->from == From::Regex || source->from == From::Json || source->from == From::Same;
  if (!relation && !forbidden && (!truth || source->take))
    return refuse(of, expr.range, "compare the number with its bound, as in 'size(\"out\") <= 1MB'");
  if (relation && source->from == From::Same)
    return refuse(of, expr.range, "whether two files are equal is not a number");
  expectation.read = std::move(*source);
  expectation.read.name = of.context.written(expr.range);
  return expectation;
}

}  // namespace expc::check
