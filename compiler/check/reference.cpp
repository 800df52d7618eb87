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

/// What a row gives for one name of the study.
struct Column {
  int parameter = -1, metric = -1;
  Type type;
  FormulaPtr value;  // of the row's cells
};

/// The columns as the language writes them: what is no word stands in quotes.
std::vector<std::string> quoted(std::vector<std::string> columns) {
  for (std::string& column : columns)
    if (!std::all_of(column.begin(), column.end(), [](unsigned char c) { return c == '_' || std::isalnum(c); }))
      column = fmt::format("\"{}\"", column);
  return columns;
}

/// A number as a table writes it, which may be below zero.
std::optional<Rational> numberIn(std::string_view cell) {
  const bool negative = cell.starts_with('-');
  auto number = Rational::parse(cell.substr(negative));
  return number && negative ? Rational(0) - *number : number;
}

class ReferenceReader {
 public:
  ReferenceReader(StudyContext& context, ModuleScope& scope, size_t index, std::string name)
      : context_(context),
        study_(context.study),
        scope_(scope),
        declaration_(scope.ast->references[index]),
        text_(*scope.file->references[index]) {
    published_.name = std::move(name);
  }

  std::optional<Published> run() {
    published_.source = load::relativeTo(scope_.file->directory, declaration_.path.value);
    published_.range = declaration_.name.range;
    if (text_.size() > kMaxReference)
      return refuse(declaration_.path.range, fmt::format("is larger than {} bytes", kMaxReference));
    std::string problem;
    auto table = readCsv(text_, problem);
    if (!table || table->empty())
      return refuse(declaration_.path.range, table ? "is empty" : "cannot be read: " + problem);
    if (!bind(table->front())) return std::nullopt;
    for (size_t line = 1; line < table->size(); ++line)
      if (!row((*table)[line], line + 1)) return std::nullopt;
    return std::move(published_);
  }

 private:
  std::nullopt_t refuse(source::Range range, std::string why) {
    // Once for all the studies that read it.
    if (context_.context.reported_references.insert(published_.name).second)
      context_.emitter().build(range, BadReference, published_.name, std::move(why)).emit();
    return std::nullopt;
  }

  /// What the names on the left stand for; what stands on the right reads the header's columns and other names.
  bool bind(const std::vector<std::string>& header) {
    for (size_t i = 0; i < header.size(); ++i) readsAs(fmt::format("column({})", header[i]), Type::number(), i);
    NameMap<LetEntry> values;
    for (const ast::LetDecl& declared : declaration_.columns) {
      Column& column = columns_.emplace_back();
      column.parameter = study_.workload->findParameter(declared.name.name);
      if (column.parameter < 0) column.metric = study_.findMetric(declared.name.name);
      column.type = column.parameter >= 0 ? study_.workload->parameters[column.parameter].type
                                          : Type::number(study_.metrics[column.metric].dimension);
      if (column.metric >= 0 && study_.metrics[column.metric].series) {
        errors::seriesValue(context_.emitter(), declared.name.range, declared.name.name,
                            study_.metrics[column.metric].range);
        return false;
      }
      if (const ast::Identifier* cell = asItStands(declared, column.type)) {
        auto found = std::find(header.begin(), header.end(), cell->name);
        if (found == header.end()) {
          diag::unknownName(context_.emitter(), cell->range, "column", cell->name, quoted(header),
                            fmt::format(" of {}", published_.source));
          return false;
        }
        readsAs(declared.value ? "" : declared.name.name, column.type, static_cast<size_t>(found - header.begin()));
        column.value = std::make_shared<const Formula>(
            formulaOf(Formula::Op::Parameter, column.type, {}, {}, static_cast<unsigned>(row_.size() - 1)));
      }
      if (auto [at, fresh] = values.emplace(declared.name.name, LetEntry{&declared, LetEntry::State::New, nullptr});
          !fresh) {
        diag::duplicateName(context_.emitter(), declared.name.range, "column", declared.name.name,
                            at->second.declaration->name.range);
        return false;
      }
    }
    std::erase_if(values, [](const auto& value) { return !value.second.declaration->value; });
    Place place{&scope_, &row_, &values};
    place.columns = &header;
    for (size_t i = 0; i < columns_.size(); ++i)
      if (!columns_[i].value && !compute(declaration_.columns[i], place, columns_[i])) return false;
    return true;
  }

  /// Formulas read the cells of a column by this name.
  void readsAs(std::string name, const Type& type, size_t column) {
    Parameter& cell = row_.emplace_back();
    cell.name = std::move(name);
    cell.type = type;
    column_of_.push_back(column);
  }

  /// The column whose cells a name takes without computing: `gpus`, and `layout = column(order)` of what is no number.
  static const ast::Identifier* asItStands(const ast::LetDecl& declared, const Type& type) {
    if (!declared.value) return &declared.name;
    auto* call = type.kind == Type::Kind::Number ? nullptr : std::get_if<ast::CallExpr>(&declared.value->node);
    if (!call || joined(call->callee) != "column" || call->arguments.size() != 1) return nullptr;
    auto* name = std::get_if<ast::NameExpr>(&call->arguments[0].value->node);
    return name && name->name.parts.size() == 1 ? &name->name.parts[0] : nullptr;
  }

  bool compute(const ast::LetDecl& declared, const Place& place, Column& column) {
    column.value = context_.expressions().build(*declared.value, place, &column.type);
    const Type& type = column.value->type;
    if (type.isError()) return false;
    if (type.agreesWith(column.type)) return true;
    auto builder =
        context_.emitter().build(declared.value->range, errors::UnitMismatch, fmt::format("'{}'", declared.name.name),
                                 column.type.name(), "its column", type.name());
    const std::string unit = column.type.kind == Type::Kind::Number ? column.type.dimension.baseUnit() : "";
    if (!unit.empty())
      builder.note({}, "the cells are plain numbers: write what one is, as in 'column(…) * 1{}'", unit);
    builder.emit();
    return false;
  }

  bool row(const std::vector<std::string>& cells, size_t line) {
    if (cells.size() == 1 && cells[0].empty()) return true;  // a blank line
    std::vector<std::optional<Value>> values(row_.size());
    std::vector<const Value*> row(row_.size(), nullptr);
    for (const Column& column : columns_)
      for (unsigned read : parametersOf(*column.value)) {
        if (!readCell(column_of_[read], row_[read].type, cells, line, values[read])) return false;
        if (values[read]) row[read] = &*values[read];
      }
    Published::Row published;
    for (const Column& column : columns_) {
      Outcome outcome = evaluate(*column.value, {row.data(), row.size()});
      if (const auto* failure = std::get_if<Failure>(&outcome)) {
        if (failure->kind == Failure::Kind::Inactive) continue;  // nothing is published there
        refuse(failure->range, fmt::format("has no value in line {} for this", line));
        return false;
      }
      Value& value = std::get<Value>(outcome);
      if (column.parameter >= 0)
        published.parameters.emplace_back(static_cast<unsigned>(column.parameter), std::move(value));
      else
        published.metrics.emplace_back(static_cast<unsigned>(column.metric), *value.asNumber());
    }
    published_.rows.push_back(std::move(published));
    return true;
  }

  bool readCell(size_t column, const Type& type, const std::vector<std::string>& cells, size_t line,
                std::optional<Value>& value) {
    const std::string cell = column < cells.size() ? cells[column] : "";
    if (cell.empty()) return true;
    if (!(value = parse(cell, type)))
      refuse(declaration_.path.range, fmt::format("has '{}' in line {}, which is no {}", cell, line,
                                                  type.kind == Type::Kind::Number ? "number" : type.name()));
    return value.has_value();
  }

  static std::optional<Value> parse(const std::string& cell, const Type& type) {
    switch (type.kind) {
      case Type::Kind::Bool:
        if (cell == "true" || cell == "false") return Value::boolean(cell == "true");
        return std::nullopt;
      case Type::Kind::Number: {
        auto number = numberIn(cell);
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
  ModuleScope& scope_;  // of the file that declares it
  const ast::ReferenceDecl& declaration_;
  const std::string& text_;
  Published published_;
  std::vector<Parameter> row_;  // what formulas read: the header's columns, then the names that are columns themselves
  std::vector<size_t> column_of_;  // of each of these
  std::vector<Column> columns_;
};

/// The first of a reference's names that a study does not have, or null.
const ast::Identifier* missing(StudyContext& context, const ast::ReferenceDecl& declaration) {
  const Study& study = context.study;
  const ast::Identifier* first = nullptr;
  for (const ast::LetDecl& column : declaration.columns)
    if (const int parameter = study.workload->findParameter(column.name.name); parameter >= 0)
      context.note(column.name, study.workload->parameters[parameter].range);
    else if (const int metric = study.findMetric(column.name.name); metric >= 0)
      context.note(column.name, study.metrics[metric].range);
    else if (!first)
      first = &column.name;
  return first;
}

/// The references that criteria of the study or of its presets ask for, by name as written.
NameMap<const ast::QualifiedName*> claimed(const StudyContext& context) {
  NameMap<const ast::QualifiedName*> names;
  auto add = [&](const std::vector<ast::CriterionDecl>& criteria) {
    for (const ast::CriterionDecl& one : criteria)
      if (one.like) names.emplace(joined(*one.like), &*one.like);
  };
  add(context.declaration->criteria);
  for (const auto* presets : {&context.declaration->presets, &context.scope.ast->presets})
    for (const ast::PresetDecl& preset : *presets) add(preset.criteria);
  return names;
}

void readReference(StudyContext& context, ModuleScope& scope, size_t index, std::string name, bool claimed) {
  const ast::ReferenceDecl& declaration = scope.ast->references[index];
  if (const ast::Identifier* unknown = missing(context, declaration)) {
    if (!claimed) return;
    std::vector<std::string> names;
    for (const Parameter& parameter : context.study.workload->parameters) names.push_back(parameter.name);
    for (const Metric& metric : context.study.metrics) names.push_back(metric.name);
    diag::unknownName(context.emitter(), unknown->range, "parameter or metric", unknown->name, names,
                      fmt::format(" of the study '{}'", context.study.name));
    return;
  }
  context.context.used_references.insert(name);
  if (!scope.file->references[index]) return;  // it could not be read, and that was said
  if (auto published = ReferenceReader(context, scope, index, std::move(name)).run())
    context.study.references.push_back(std::move(*published));
}

/// One of another file, `like paper.table2`; it belongs to the studies that ask for it.
void importReference(StudyContext& context, const std::string& written, const ast::QualifiedName& name) {
  if (name.parts.size() != 2) return;
  context.declared_references.emplace(written, name.range);
  ModuleScope* module = context.expressions().scopeOf(name, context.scope);
  if (!module) return;
  std::vector<std::string> names;
  const auto& declared = module->ast->references;
  for (size_t i = 0; i < declared.size(); ++i) {
    if (declared[i].name.name == name.parts[1].name) return readReference(context, *module, i, written, true);
    names.push_back(declared[i].name.name);
  }
  diag::unknownName(context.emitter(), name.parts[1].range, "reference", name.parts[1].name, names,
                    fmt::format(" of {}", module->file->path));
}

}  // namespace

FormulaPtr Expressions::column(const ast::CallExpr& call, source::Range range, const Place& place) {
  auto* name = call.arguments.size() == 1 && !call.arguments[0].name
                   ? std::get_if<ast::NameExpr>(&call.arguments[0].value->node)
                   : nullptr;
  auto* text = call.arguments.size() == 1 ? std::get_if<ast::StringLiteral>(&call.arguments[0].value->node) : nullptr;
  if (!text && (!name || name->name.parts.size() != 1)) {
    const std::string found = call.arguments.empty() ? "none" : squeeze(sources_.text(call.arguments[0].value->range));
    emitter_.emit(range, errors::WrongArguments, "column", "the name of one column", found);
    return error(range);
  }
  const std::string& wanted = text ? text->value : name->name.parts[0].name;
  auto found = std::find(place.columns->begin(), place.columns->end(), wanted);
  if (found == place.columns->end()) {
    const source::Range written = call.arguments[0].value->range;
    diag::unknownName(emitter_, text ? parse::writtenRange(sources_, written, 0, wanted.size()) : written, "column",
                      wanted, text ? *place.columns : quoted(*place.columns));
    return error(range);
  }
  return make(Formula::Op::Parameter, Type::number(), range, {}, static_cast<unsigned>(found - place.columns->begin()));
}

void checkReferences(StudyContext& context) {
  const auto names = claimed(context);
  for (size_t i = 0; i < context.scope.ast->references.size(); ++i) {
    const ast::Identifier& name = context.scope.ast->references[i].name;
    auto [at, fresh] = context.declared_references.emplace(name.name, name.range);
    if (fresh)
      readReference(context, context.scope, i, name.name, names.contains(name.name));
    else
      diag::duplicateName(context.emitter(), name.range, "reference", name.name, at->second);
  }
  for (const auto& [written, name] : names)
    if (name->parts.size() > 1) importReference(context, written, *name);
}

void checkReferencesUsed(Checking& context, const ast::Module& module) {
  if (module.studies.empty()) return;
  for (const ast::ReferenceDecl& declaration : module.references)
    if (!context.used_references.contains(declaration.name.name))
      context.emitter.build(declaration.name.range, UnusedReference, declaration.name.name)
          .note({}, "its names must be parameters and metrics of the study that it is for")
          .emit();
}

}  // namespace expc::check
