// Published values: a CSV file whose columns are parameters and metrics of a study.

#include <algorithm>
#include <cctype>

#include "compiler/check/checker.h"
#include "compiler/check/csv.h"
#include "compiler/parse/parse.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadReference, Error, "the reference '{0}' {1}", std::string_view, std::string);
EXPC_DIAGNOSTIC(UnusedReference, Warning, "the reference '{0}' fits no study of this file", std::string_view);

constexpr size_t kMaxReference = 1 << 20;

/// One column: what it is in the study, and how its cells are read.
struct Column {
  size_t index = 0;
  int parameter = -1, metric = -1;
  Rational scale = 1;
};

class ReferenceReader {
 public:
  ReferenceReader(StudyContext& context, const ast::ReferenceDecl& declaration, const std::string& text)
      : context_(context), study_(context.study), declaration_(declaration), text_(text) {}

  std::optional<Published> run() {
    published_.name = declaration_.name.name;
    published_.source = declaration_.path.value;
    published_.range = declaration_.name.range;
    if (text_.size() > kMaxReference)
      return refuse(declaration_.path.range, fmt::format("is larger than {} bytes", kMaxReference));
    std::string problem;
    auto table = readCsv(text_, problem);
    if (!table || table->empty())
      return refuse(declaration_.path.range, table ? "is empty" : "cannot be read: " + problem);
    for (const ast::ReferenceColumn& column : declaration_.columns)
      if (!bind(column, table->front())) return std::nullopt;
    for (size_t line = 1; line < table->size(); ++line)
      if (!row((*table)[line], line + 1)) return std::nullopt;
    return std::move(published_);
  }

 private:
  std::nullopt_t refuse(source::Range range, std::string why) {
    // Once for all the studies that read it.
    if (context_.context.reported_references.insert(declaration_.name.name).second)
      context_.emitter().build(range, BadReference, published_.name, std::move(why)).emit();
    return std::nullopt;
  }

  /// `gpus : gpus`, `train_time : column("total_time_s", unit = 1s)`
  bool bind(const ast::ReferenceColumn& declared, const std::vector<std::string>& header) {
    Column column;
    column.parameter = study_.workload->findParameter(declared.name.name);
    column.metric = column.parameter < 0 ? study_.findMetric(declared.name.name) : -1;
    std::string name;
    const ast::Expr* unit = nullptr;
    if (!columnName(*declared.column, name, unit)) return false;
    auto found = std::find(header.begin(), header.end(), name);
    if (found == header.end()) {
      unknownColumn(*declared.column, name, header);
      return false;
    }
    column.index = static_cast<size_t>(found - header.begin());
    if (column.metric >= 0 && study_.metrics[column.metric].series) {
      errors::seriesValue(context_.emitter(), declared.name.range, declared.name.name,
                          study_.metrics[column.metric].range);
      return false;
    }
    if (unit && !scale(*unit, column)) return false;
    columns_.push_back(column);
    return true;
  }

  /// A bare name can only be replaced by a column whose name is a word of the language.
  void unknownColumn(const ast::Expr& expr, const std::string& name, const std::vector<std::string>& header) {
    const auto* call = std::get_if<ast::CallExpr>(&expr.node);
    const source::Range range =
        call ? parse::writtenRange(context_.context.sources, call->arguments[0].value->range, 0, name.size())
             : expr.range;
    std::vector<std::string> columns = header;
    for (std::string& column : columns) {
      const bool word =
          std::all_of(column.begin(), column.end(), [](unsigned char c) { return c == '_' || std::isalnum(c); });
      const bool plain = column.find_first_of("\"\\") == std::string::npos;
      if (call ? !plain : !word) column = fmt::format("column(\"{}\")", column);
    }
    diag::unknownName(context_.emitter(), range, "column", name, columns, fmt::format(" of {}", published_.source));
  }

  bool columnName(const ast::Expr& expr, std::string& name, const ast::Expr*& unit) {
    if (auto* bare = std::get_if<ast::NameExpr>(&expr.node); bare && bare->name.parts.size() == 1) {
      name = bare->name.parts[0].name;
      return true;
    }
    auto* call = std::get_if<ast::CallExpr>(&expr.node);
    bool good = call && joined(call->callee) == "column" && !call->arguments.empty();
    for (size_t i = 0; good && i < call->arguments.size(); ++i) {
      const ast::CallArgument& argument = call->arguments[i];
      auto* text = std::get_if<ast::StringLiteral>(&argument.value->node);
      if (i == 0 && !argument.name && text)
        name = text->value;
      else if (i > 0 && argument.name && argument.name->name == "unit" && !unit)
        unit = argument.value.get();
      else
        good = false;
    }
    if (good) return true;
    refuse(expr.range, "has a column that is neither a name nor 'column(\"total_time_s\", unit = 1s)'");
    return false;
  }

  bool scale(const ast::Expr& unit, Column& column) {
    const Type& type = column.parameter >= 0 ? study_.workload->parameters[column.parameter].type
                                             : Type::number(study_.metrics[column.metric].dimension);
    if (type.kind != Type::Kind::Number) {
      refuse(unit.range, "gives a unit to what is no number");
      return false;
    }
    auto value = context_.expressions().constant(unit, context_.place(), Type::number(type.dimension), "the unit");
    if (!value) return false;
    column.scale = *value->asNumber();
    return true;
  }

  bool row(const std::vector<std::string>& cells, size_t line) {
    if (cells.size() == 1 && cells[0].empty()) return true;  // a blank line
    Published::Row row;
    for (const Column& column : columns_) {
      const std::string cell = column.index < cells.size() ? cells[column.index] : "";
      if (cell.empty()) continue;  // nothing is published there
      if (column.parameter >= 0) {
        const Parameter& parameter = study_.workload->parameters[column.parameter];
        auto value = parse(cell, parameter.type, column.scale);
        if (!value) {
          refuse(declaration_.path.range,
                 fmt::format("has '{}' in line {}, which is no {} of '{}'", cell, line,
                             parameter.type.kind == Type::Kind::Enum ? "level" : "value", parameter.name));
          return false;
        }
        row.parameters.emplace_back(static_cast<unsigned>(column.parameter), std::move(*value));
        continue;
      }
      auto number = Rational::parse(cell);
      if (number) number = *number * column.scale;
      if (!number) {
        refuse(declaration_.path.range, fmt::format("has '{}' in line {}, which is no number", cell, line));
        return false;
      }
      row.metrics.emplace_back(static_cast<unsigned>(column.metric), *number);
    }
    published_.rows.push_back(std::move(row));
    return true;
  }

  static std::optional<Value> parse(const std::string& cell, const Type& type, const Rational& scale) {
    switch (type.kind) {
      case Type::Kind::Bool:
        if (cell == "true" || cell == "false") return Value::boolean(cell == "true");
        return std::nullopt;
      case Type::Kind::Number: {
        auto number = Rational::parse(cell);
        if (number) number = *number * scale;
        return number ? std::optional(Value::number(*number, type.dimension)) : std::nullopt;
      }
      case Type::Kind::String:
        return Value::text(cell);
      case Type::Kind::Enum: {
        int level = type.enumeration->find(cell);
        bool plain = level >= 0 && type.enumeration->levels[level].fields.empty();
        return plain ? std::optional(Value::level(*type.enumeration, static_cast<unsigned>(level))) : std::nullopt;
      }
      default:
        return std::nullopt;
    }
  }

  StudyContext& context_;
  const Study& study_;
  const ast::ReferenceDecl& declaration_;
  const std::string& text_;
  Published published_;
  std::vector<Column> columns_;
};

/// The first of a reference's names that a study does not have, or null.
const ast::Identifier* missing(const Study& study, const ast::ReferenceDecl& declaration) {
  for (const ast::ReferenceColumn& column : declaration.columns)
    if (study.workload->findParameter(column.name.name) < 0 && study.findMetric(column.name.name) < 0)
      return &column.name;
  return nullptr;
}

bool claimed(const ast::StudyDecl& study, const std::string& reference) {
  auto names = [&](const std::vector<ast::CriterionDecl>& criteria) {
    return std::any_of(criteria.begin(), criteria.end(),
                       [&](const ast::CriterionDecl& one) { return one.like && one.like->name == reference; });
  };
  return names(study.criteria) || std::any_of(study.presets.begin(), study.presets.end(),
                                              [&](const ast::PresetDecl& preset) { return names(preset.criteria); });
}

}  // namespace

void checkReferences(StudyContext& context) {
  for (size_t i = 0; i < context.scope.ast->references.size(); ++i) {
    const ast::ReferenceDecl& declaration = context.scope.ast->references[i];
    const ast::Identifier& name = declaration.name;
    auto [at, fresh] = context.declared_references.emplace(name.name, name.range);
    if (!fresh) {
      diag::duplicateName(context.emitter(), name.range, "reference", name.name, at->second);
      continue;
    }
    if (const ast::Identifier* unknown = missing(context.study, declaration)) {
      if (!claimed(*context.declaration, name.name)) continue;
      std::vector<std::string> names;
      for (const Parameter& parameter : context.study.workload->parameters) names.push_back(parameter.name);
      for (const Metric& metric : context.study.metrics) names.push_back(metric.name);
      diag::unknownName(context.emitter(), unknown->range, "parameter or metric", unknown->name, names,
                        fmt::format(" of the study '{}'", context.study.name));
      continue;
    }
    context.context.used_references.insert(name.name);
    const std::optional<std::string>& text = context.scope.file->references[i];
    if (!text) continue;
    if (auto published = ReferenceReader(context, declaration, *text).run())
      context.study.references.push_back(std::move(*published));
  }
}

void checkReferencesUsed(Context& context, const ast::Module& module) {
  if (module.studies.empty()) return;
  for (const ast::ReferenceDecl& declaration : module.references)
    if (!context.used_references.contains(declaration.name.name))
      context.emitter.build(declaration.name.range, UnusedReference, declaration.name.name)
          .note({}, "its names must be parameters and metrics of the study that it is for")
          .emit();
}

}  // namespace expc::check
