// Where the numbers of a command are read: `from`, `outputs` and `expect`.

#include <algorithm>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(MetricSourceShape, Error, "a number cannot be read so: {0}", std::string_view);
EXPC_DIAGNOSTIC(MissingSource, Error, "the command's metric '{0}' does not say where it is read", std::string_view);

using From = MetricSource::From;

/// What is to be read.
struct Wanted {
  std::string name;  // the metric's; of an expectation "", of `outputs` alone "name"
  Dimension dimension;
  bool series = false;
  bool expected = false;
  bool number = true;                  // an expectation without a bound is none
  const ast::Expr* outputs = nullptr;  // has the file that is not said
};

std::nullopt_t refuse(Context& context, source::Range range, std::string_view why) {
  context.emitter.build(range, MetricSourceShape, why)
      .note({},
            "write 'regex(\"step ([0-9.]+) ms\", unit = 1ms)', 'json(\"out.json\", \"/time\", unit = 1s)', "
            "'csv(\"log.csv\", column = \"loss\")', 'size(\"out\")' or 'stdout'")
      .emit();
  return std::nullopt;
}

/// A text, or the file that a stream of the program's goes to.
std::optional<std::string> fileOf(const ast::Expr& expr) {
  if (auto* text = std::get_if<ast::StringLiteral>(&expr.node)) return text->value;
  auto* name = std::get_if<ast::NameExpr>(&expr.node);
  const std::string word = name ? joined(name->name) : "";
  if (word == "stdout" || word == "stderr") return word + ".txt";
  return std::nullopt;
}

/// Whether `outputs` is this reader, and of which file.
std::optional<std::string> outputsFile(const ast::Expr* outputs, std::string_view reader) {
  auto* call = outputs ? std::get_if<ast::CallExpr>(&outputs->node) : nullptr;
  if (!call || joined(call->callee) != reader || call->arguments.empty()) return std::nullopt;
  return fileOf(*call->arguments[0].value);
}

class SourceChecker {
 public:
  SourceChecker(Context& context, ModuleScope& scope, Wanted wanted)
      : context_(context), scope_(scope), wanted_(std::move(wanted)) {}

  std::optional<MetricSource> read(const ast::Expr& expr) {
    static const ast::CallExpr kBare;
    auto* name = std::get_if<ast::NameExpr>(&expr.node);
    auto* call = std::get_if<ast::CallExpr>(&expr.node);
    if (!name && !call) return refuse(context_, expr.range, "this says no way to read a number");
    const ast::QualifiedName& callee = name ? name->name : call->callee;
    const std::string word = joined(callee);
    if (const int take = language::indexOf(language::Role::Taken, word); call && take >= 0)
      return oneOf(expr, *call, static_cast<MetricSource::Take>(take));
    if (word != "stdout" && !call) return unknown(callee.range, word);
    arguments_ = {};
    if (!collect(call ? *call : kBare, word)) return std::nullopt;
    if (word == "regex") return regex(expr.range);
    if (word == "json") return json(expr.range);
    if (word == "csv") return csv(expr.range);
    if (word == "stdout") return lines(expr.range);
    if (word == "size") return size(expr.range);
    if (word == "same" && wanted_.expected) return same(expr.range);
    return unknown(callee.range, word);
  }

 private:
  struct Arguments {
    std::vector<std::string> texts;
    std::optional<std::string> column, file;
    std::optional<Rational> unit;
  };

  std::nullopt_t unknown(source::Range range, const std::string& word) {
    std::vector<std::string> names = language::texts(language::Role::Source);
    if (wanted_.expected) names.push_back("same");
    for (std::string& take : language::texts(language::Role::Taken)) names.push_back(std::move(take));
    diag::unknownName(context_.emitter, range, "way to read a number", word, names);
    return std::nullopt;
  }

  /// `median(json("out.json", "/times"))`
  std::optional<MetricSource> oneOf(const ast::Expr& expr, const ast::CallExpr& call, MetricSource::Take take) {
    const std::string word = joined(call.callee);
    if (call.arguments.size() != 1 || call.arguments[0].name)
      return refuse(context_, expr.range, fmt::format("'{}' takes one way to read numbers", word));
    if (wanted_.series)
      return refuse(context_, expr.range, fmt::format("a series takes all numbers, so '{}' says nothing", word));
    auto source = read(*call.arguments[0].value);
    if (!source) return std::nullopt;
    if (source->take || source->from == From::Size || source->from == From::Same)
      return refuse(context_, expr.range, fmt::format("'{}' takes what gives several numbers", word));
    source->take = take;
    return source;
  }

  bool collect(const ast::CallExpr& call, const std::string& reader) {
    for (const ast::CallArgument& argument : call.arguments) {
      const std::string name = argument.name ? argument.name->name : "";
      std::vector<std::string> known;
      if (reader != "size" && reader != "same") known.push_back("unit");
      if (reader == "csv" || reader == "regex") known.push_back(reader == "csv" ? "column" : "file");
      if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end()) {
        diag::unknownName(context_.emitter, argument.name->range, "argument", name, known);
        return false;
      }
      if (name == "unit") {
        if (!unit(*argument.value)) return false;
        continue;
      }
      auto text = fileOf(*argument.value);
      if (!text) {
        refuse(context_, argument.value->range, fmt::format("'{}' takes texts here", reader));
        return false;
      }
      if (name.empty())
        arguments_.texts.push_back(std::move(*text));
      else
        (name == "column" ? arguments_.column : arguments_.file) = std::move(text);
    }
    return true;
  }

  /// The value of one unit that is read.
  bool unit(const ast::Expr& expr) {
    auto value = context_.expressions.constant(expr, {&scope_}, Type::number(wanted_.dimension), "the unit");
    if (!value) return false;
    if (value->asNumber()->sign() <= 0) {
      refuse(context_, expr.range, "a unit must be above zero");
      return false;
    }
    arguments_.unit = *value->asNumber();
    return true;
  }

  MetricSource made(From from, std::string file, std::string where) const {
    return {from, std::move(file), std::move(where), arguments_.unit.value_or(1), {}};
  }

  std::optional<MetricSource> regex(source::Range range) {
    if (arguments_.texts.size() != 1) return refuse(context_, range, "'regex' takes a pattern");
    if (wanted_.number && arguments_.texts[0].find('(') == std::string::npos)
      return refuse(context_, range, "the pattern needs a group '(…)' around the number");
    return made(From::Regex, arguments_.file.value_or(""), arguments_.texts[0]);
  }

  std::optional<MetricSource> json(source::Range range) {
    std::vector<std::string>& texts = arguments_.texts;
    if (texts.size() == 1 && texts[0].starts_with("/")) {
      auto file = outputsFile(wanted_.outputs, "json");
      if (!file) return refuse(context_, range, "'json' takes a file, and 'outputs' names none");
      texts.insert(texts.begin(), std::move(*file));
    }
    if (texts.size() == 1 && !wanted_.name.empty()) texts.push_back("/" + wanted_.name);
    if (texts.size() != 2) return refuse(context_, range, "'json' takes a file and a JSON pointer");
    if (!texts[1].empty() && texts[1][0] != '/') return refuse(context_, range, "a JSON pointer begins with '/'");
    return made(From::Json, texts[0], texts[1]);
  }

  std::optional<MetricSource> csv(source::Range range) {
    std::vector<std::string>& texts = arguments_.texts;
    if (texts.empty())
      if (auto file = outputsFile(wanted_.outputs, "csv")) texts.push_back(std::move(*file));
    if (texts.size() == 1 && arguments_.column) texts.push_back(*arguments_.column);
    if (texts.size() == 1 && !wanted_.name.empty()) texts.push_back(wanted_.name);
    if (texts.size() != 2) return refuse(context_, range, "'csv' takes a file and a column");
    return made(From::Csv, texts[0], texts[1]);
  }

  std::optional<MetricSource> lines(source::Range range) {
    if (!arguments_.texts.empty())
      return refuse(context_, range, "'stdout' takes no text: its last line is the number");
    return made(From::Lines, "", "");
  }

  std::optional<MetricSource> size(source::Range range) {
    if (arguments_.texts.size() != 1) return refuse(context_, range, "'size' takes a file or folder");
    const Dimension bytes = Dimension::of(Dimension::Bytes);
    if (wanted_.dimension == bytes || !wanted_.number) return made(From::Size, arguments_.texts[0], "");
    context_.emitter.emit(range, errors::UnitMismatch, "the size of a file", "Bytes",
                          wanted_.expected ? "what it is compared with" : fmt::format("'{}'", wanted_.name),
                          wanted_.dimension.typeName());
    return std::nullopt;
  }

  std::optional<MetricSource> same(source::Range range) {
    if (arguments_.texts.size() != 2)
      return refuse(context_, range, "'same' takes the file that is written and the one that it must be like");
    return made(From::Same, arguments_.texts[0], load::relativeTo(scope_.file->directory, arguments_.texts[1]));
  }

  Context& context_;
  ModuleScope& scope_;
  Wanted wanted_;
  Arguments arguments_;
};

/// What the runtime sees of any program that it starts.
bool seenFromOutside(const Metric& metric) {
  if (metric.series) return false;
  if (metric.name == "wall" || metric.name == "cpu_time") return metric.dimension == Dimension::of(Dimension::Time);
  return metric.name == "host_memory_peak" && metric.dimension == Dimension::of(Dimension::Bytes);
}

}  // namespace

bool checkOutputsClause(Context& context, ModuleScope& scope, const ast::WorkloadDecl& workload) {
  Wanted wanted;
  wanted.name = "name";
  auto* call = std::get_if<ast::CallExpr>(&workload.outputs->node);
  for (size_t i = 0; call && i < call->arguments.size(); ++i) {
    const ast::CallArgument& argument = call->arguments[i];
    if (argument.name && argument.name->name == "unit") {
      refuse(context, argument.name->range, "each metric has a unit of its own: say it in the metric's 'from'");
      return false;
    }
  }
  return SourceChecker(context, scope, std::move(wanted)).read(*workload.outputs).has_value();
}

void checkMetricSource(Context& context, ModuleScope& scope, const ast::WorkloadDecl& workload,
                       const ast::MetricDecl& declaration, Metric& metric) {
  Wanted wanted{metric.name, metric.dimension, metric.series, false, true, workload.outputs.get()};
  SourceChecker checker(context, scope, std::move(wanted));
  if (declaration.source) {
    if (workload.command)
      metric.source = checker.read(*declaration.source);
    else
      refuse(context, declaration.source->range, "only the metrics of a command are read with 'from'");
    return;
  }
  if (!workload.command || seenFromOutside(metric)) return;
  if (workload.outputs) {
    metric.source = checker.read(*workload.outputs);
    if (!metric.source) return;
    return replaceAll(metric.source->where, "{name}", metric.name);
  }
  context.emitter.build(metric.range, MissingSource, metric.name)
      .note({},
            "write 'from regex(…)', 'from json(…)' or 'from csv(…)' after it, or 'outputs json(…)' for all; only "
            "'wall' and 'cpu_time' (Time) and 'host_memory_peak' (Bytes) are seen from outside")
      .emit();
}

std::optional<Expectation> checkExpectation(Context& context, ModuleScope& scope, const ast::WorkloadDecl& workload,
                                            const ast::Expr& expr) {
  Wanted wanted;
  wanted.expected = true;
  wanted.outputs = workload.outputs.get();
  Expectation expectation;
  expectation.text = context.expressions.written(expr.range);
  auto* binary = std::get_if<ast::BinaryExpr>(&expr.node);
  const auto relation = binary ? relationOf(binary->op) : std::nullopt;
  if (relation) {
    auto limit = context.expressions.number(*binary->right, {&scope}, "what is expected");
    if (!limit) return std::nullopt;
    wanted.dimension = std::get<Value::Number>(limit->node).dimension;
    const std::string written = context.expressions.written(binary->right->range);
    expectation.bound =
        Bound{*relation, *limit->asNumber(), *limit->asNumber(), fmt::format("{} {}", spelled(*relation), written)};
  }
  wanted.number = relation.has_value();
  auto source = SourceChecker(context, scope, std::move(wanted)).read(relation ? *binary->left : expr);
  if (!source) return std::nullopt;
  const bool truth = source->from == From::Regex || source->from == From::Json || source->from == From::Same;
  if (!relation && (!truth || source->take))
    return refuse(context, expr.range, "a number is compared with what it must be, as in 'size(\"out\") <= 1MB'");
  if (relation && source->from == From::Same)
    return refuse(context, expr.range, "whether two files are the same is no number");
  expectation.source = std::move(*source);
  return expectation;
}

}  // namespace expc::check
