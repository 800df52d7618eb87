// Published values: a CSV file whose columns are parameters and metrics of a study. A reference is read once
// for each study that has all its names; rows become values of the study's parameters and metrics. Columns are
// expressions over the cells, built with ExpressionScope::columns and evaluated for each row.

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "compiler/parse/parse.h"
#include "runtime/base/files/csv.h"
#include "runtime/base/text.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(BadReference, "the reference '{0}' {1}");
EXPC_DIAGNOSTIC(UnusedReference, "the reference '{0}' fits no study of this file");

// Limit on the size of a file, in bytes.
constexpr size_t kMaxReference = 1 << 20;

using Cells = std::vector<std::vector<std::string>>;

/// The place of a weight beside the metrics of a row.
constexpr unsigned kWeight = ~0u;

/// One declared column: the parameter or metric that it gives, and how its value is computed from a row. It gives the
/// weight of the row if it gives neither.
struct Column {
  int parameter = -1, metric = -1;
  Type type;
  /// Over the cells that Columns::cells lists.
  FormulaPtr value;
};

/// Column names as the language writes them: a name that is no word stands in quotes.
std::vector<std::string> quoted(std::vector<std::string> columns) {
  const auto inWord = [](unsigned char c) { return c == '_' || std::isalnum(c); };
  for (std::string& column : columns)
    if (!std::ranges::all_of(column, inWord)) column = fmt::format("\"{}\"", column);
  return columns;
}

/// A number as a table writes it, which may be negative.
std::optional<Rational> numberIn(std::string_view cell) {
  const bool negative = cell.starts_with('-');
  auto number = Rational::parse(cell.substr(negative));
  return number && negative ? Rational(0) - *number : number;
}

/// Reads one reference for one study.
struct ReferenceReader {
  StudyContext& context;
  /// The scope of the file that declares it.
  ModuleScope& scope;
  const ast::ReferenceDecl& declaration;
  const std::string& text;
  /// The column of the file that an aggregate weighs its parts by; null: none.
  const ast::Identifier* weight = nullptr;
  const Study& study = context.study;
  Published result = {};
  /// Published values so far, by the values of a row's parameters and the metric, with the line: two different
  /// values for one point are a mistake.
  std::map<std::pair<std::string, unsigned>, std::pair<Rational, size_t>> known = {};
  Columns sheet = {};
  std::vector<Column> columns = {};

  /// Nothing after a report.
  std::optional<Published> run(std::string name) {
    result.name = std::move(name);
    result.source = load::relativeTo(scope.file->directory, declaration.path.value);
    result.range = declaration.name.range;
    if (text.size() > kMaxReference) return refuseFile(fmt::format("is larger than {} bytes", kMaxReference));
    const Cells table = read();
    if (table.empty()) return std::nullopt;
    std::set<std::string> headings;
    for (const std::string& heading : table.front())
      if (!heading.empty() && !headings.insert(heading).second)
        return refuseFile(fmt::format("has two columns '{}'", heading));
    if (!bind(table.front())) return std::nullopt;
    for (size_t line = 1; line < table.size(); ++line)
      if (!row(table[line], line + 1)) return std::nullopt;
    return std::move(result);
  }

  /// Reports a mistake of the reference, once for all the studies that read it.
  diag::Refusal refuse(source::Range range, std::string why) {
    if (context.context.reported_references.insert(result.name).second)
      context.emitter.emit(range, BadReference, result.name, std::move(why));
    return {};
  }

  /// Reports a mistake in the file, at its path.
  diag::Refusal refuseFile(std::string why) { return refuse(declaration.path.range, std::move(why)); }

  /// The rows of the file; none after a report.
  Cells read() {
    files::CsvRows rows(text, files::CsvRows::Blanks::Dropped);
    Cells table;
    for (;;) {
      auto more = rows.next(table.emplace_back());
      if (more && *more) continue;
      table.pop_back();
      if (more && !table.empty()) return table;
      refuseFile(more ? "is empty"
                      : fmt::format("cannot be read: row {}: {}", table.size() + 1, toString(more.takeError())));
      return {};
    }
  }

  /// Resolves the columns. Names on the left are parameters or metrics of the study. Expressions on the right
  /// read the header's columns, and other names on the left as if they were lets.
  bool bind(std::vector<std::string> header) {
    sheet.header = std::move(header);
    NameMap<LetEntry> values;
    ExpressionScope place{&scope, nullptr, &values};
    place.columns = &sheet;
    for (const ast::LetDecl& declared : declaration.columns) {
      Column& column = columns.emplace_back();
      column.parameter = study.findParameter(declared.name.name);
      if (column.parameter >= 0) result.named.push_back(unsigned(column.parameter));
      if (column.parameter < 0) column.metric = study.findMetric(declared.name.name);
      column.type = column.parameter >= 0 ? study.parameter(column.parameter).type
                                          : Type::number(study.metrics[column.metric].dimension);
      if (column.metric >= 0 && study.metrics[column.metric].series)
        return seriesValue(context.emitter, declared.name.range, study.metrics[column.metric]);
      if (!declareLet(context.emitter, "column", declared, values)) return false;
      if (declared.value) continue;
      column.value = context.context.cell(declared.name.name, declared.name.range, false, place, column.type);
      if (column.value->type.isError()) return false;
      values[declared.name.name] = {&declared, LetEntry::State::Done, column.value};
    }
    for (size_t i = 0; i < columns.size(); ++i)
      if (!columns[i].value && !compute(declaration.columns[i], place, columns[i])) return false;
    if (!weight) return true;
    columns.push_back({.type = Type::number(), .value = nullptr});
    columns.back().value = context.context.cell(weight->name, weight->range, false, place, Type::number());
    return !columns.back().value->type.isError();
  }

  /// Builds a column's expression and checks its type.
  bool compute(const ast::LetDecl& declared, const ExpressionScope& place, Column& column) {
    column.value = context.context.build(*declared.value, place, &column.type);
    const Type& type = column.value->type;
    if (type.isError()) return false;
    if (type.agreesWith(column.type)) return true;
    auto builder = context.emitter.emit(declared.value->range, UnitMismatch, fmt::format("'{}'", declared.name.name),
                                        column.type.name(), "its column", type.name());
    const std::string unit = column.type.isNumber() ? column.type.dimension.baseUnit() : "";
    if (!unit.empty()) builder.note("the cells are plain numbers: write their unit, as in 'column(…) * 1{}'", unit);
    return builder;
  }

  /// Reads one row; false after a report. A row with an empty cell publishes nothing for what needs that cell.
  bool row(const std::vector<std::string>& cells, size_t line) {
    if (cells.size() == 1 && cells[0].empty()) return true;  // a blank line
    if (cells.size() != sheet.header.size())
      return refuseFile(fmt::format("has {} in line {}, but {} in its heading", base::counted(cells.size(), "cell"),
                                    line, sheet.header.size()));
    std::vector<std::optional<Value>> values;
    std::vector<const Value*> row;
    // First all cells that some column reads, then the columns' values from these.
    for (const Columns::Cell& cell : sheet.cells)
      if (!readCell(cell, cells, line, values.emplace_back())) return false;
    for (const std::optional<Value>& value : values) row.push_back(value ? &*value : nullptr);
    Published::Row published;
    for (const Column& column : columns) {
      Outcome outcome = evaluate(*column.value, {row.data(), row.size()});
      if (const auto* failure = std::get_if<Failure>(&outcome)) {
        // An empty cell: the row publishes nothing here.
        if (failure->kind == Failure::Kind::Inactive) continue;
        return refuse(failure->range, fmt::format("has no value in line {} for this", line));
      }
      Value& value = std::get<Value>(outcome);
      if (column.type.whole && !value.asNumber()->isInteger())
        return refuseFile(fmt::format("has {} for '{}' in line {}, which is not a whole number", value.toString(),
                                      study.parameter(column.parameter).name, line));
      if (column.parameter >= 0)
        published.parameters.emplace_back(unsigned(column.parameter), std::move(value));
      else
        published.metrics.emplace_back(unsigned(column.metric), *value.asNumber());
    }
    // Two rows with equal parameters must not have different values of a metric.
    std::string key;
    for (const auto& [parameter, value] : published.parameters)
      key += fmt::format("{} {}\n", parameter, value.toString());
    for (const auto& [metric, value] : published.metrics) {
      const auto& [first, line_of_first] = known.try_emplace({key, metric}, value, line).first->second;
      if (first != value)
        return refuseFile(fmt::format("gives two values of '{}' for the same parameters, in lines {} and {}",
                                      metric == kWeight ? weight->name : study.metrics[metric].name, line_of_first,
                                      line));
    }
    result.rows.push_back(std::move(published));
    return true;
  }

  /// Reads a cell as a value of its type; an empty one is no value. False after a report.
  bool readCell(const Columns::Cell& wanted, const std::vector<std::string>& cells, size_t line,
                std::optional<Value>& value) {
    const Type& type = wanted.type;
    const std::string cell = wanted.column < cells.size() ? cells[wanted.column] : "";
    if (cell.empty()) return true;
    if (!(value = parse(cell, type)))
      refuseFile(
          fmt::format("has '{}' in line {}, which is not a {}", cell, line, type.isNumber() ? "number" : type.name()));
    return value.has_value();
  }

  /// The value of a cell's text; nothing if it is none of the type.
  static std::optional<Value> parse(const std::string& cell, const Type& type) {
    using Kind = Type::Kind;
    if (type.kind == Kind::String) return Value::text(cell);
    if (type.kind == Kind::Bool && (cell == "true" || cell == "false")) return Value::boolean(cell == "true");
    if (const auto number = type.kind == Kind::Number ? numberIn(cell) : std::nullopt)
      return Value::number(*number, type.dimension);
    const int level = type.kind == Kind::Enum ? type.enumeration->find(cell) : -1;
    if (level < 0 || !type.enumeration->levels[level].fields.empty()) return std::nullopt;
    return Value::level(*type.enumeration, unsigned(level));
  }
};

/// The first of a reference's names that a study does not have, or null if it fits the study.
const ast::Identifier* missing(StudyContext& context, const ast::ReferenceDecl& declaration) {
  const Study& study = context.study;
  const ast::Identifier* first = nullptr;
  for (const ast::LetDecl& column : declaration.columns)
    if (const int parameter = study.findParameter(column.name.name); parameter >= 0)
      context.note(column.name, study.parameter(parameter).range);
    else if (const int metric = study.findMetric(column.name.name); metric >= 0)
      context.note(column.name, study.metrics[metric].range);
    else if (!first)
      first = &column.name;
  return first;
}

/// The references that criteria of the study or of its presets name, as written.
NameMap<const ast::QualifiedName*> claimed(const StudyContext& context) {
  NameMap<const ast::QualifiedName*> names;
  const auto collect = [&](const auto& self, const ast::Claim& claim) -> void {
    if (claim.assertion.like) names.emplace(joined(*claim.assertion.like), &*claim.assertion.like);
    for (const ast::Claim& part : claim.parts) self(self, part);
  };
  auto add = [&](const std::vector<ast::CriterionDecl>& criteria) {
    for (const ast::CriterionDecl& one : criteria) collect(collect, one.claim);
  };
  add(context.declaration->criteria);
  for (const auto* presets : {&context.declaration->presets, &context.scope.ast->presets})
    for (const ast::PresetDecl& preset : *presets) add(preset.criteria);
  return names;
}

/// Reads a reference if it fits the study. If not, that is a mistake only if a criterion or a weight names it
/// (`claimed`): a file may declare references for some of its studies. With `weight`, a column of the file, rows have
/// the weight, too.
std::optional<Published> readReference(StudyContext& context, ModuleScope& scope, size_t index, std::string name,
                                       bool claimed, const ast::Identifier* weight = nullptr) {
  const ast::ReferenceDecl& declaration = scope.ast->references[index];
  if (const ast::Identifier* unknown = missing(context, declaration)) {
    if (claimed)
      unknownName(context.emitter, "parameter or metric", *unknown,
                  namesOf(context.study.workload->parameters, context.study.metrics),
                  fmt::format(" of the study '{}'", context.study.name));
    return std::nullopt;
  }
  context.context.used_references.insert(name);
  // The file could not be read, which was reported.
  if (!scope.file->references[index]) return std::nullopt;
  return ReferenceReader{context, scope, declaration, *scope.file->references[index], weight}.run(std::move(name));
}

/// Reads a reference that belongs to the study if it fits it.
void takeReference(StudyContext& context, ModuleScope& scope, size_t index, std::string name, bool claimed) {
  if (auto published = readReference(context, scope, index, std::move(name), claimed))
    context.study.references.push_back(std::move(*published));
}

/// Whether the values of a row hold at a point: the row belongs to it.
FormulaPtr belongs(const Study& study, const Published::Row& row, source::Range range) {
  const auto boolean = [&](bool value) { return constantOf(Value::boolean(value), Type::boolean(), range); };
  FormulaPtr all;
  for (const auto& [parameter, value] : row.parameters) {
    const Type& type = study.parameter(parameter).type;
    const auto own = std::make_shared<const Formula>(formulaOf(Formula::Op::Parameter, type, range, {}, parameter));
    const FormulaPtr equal = combine(Formula::Op::Equal, own, constantOf(value, type, range));
    // A row belongs to no point at which one of its parameters is inactive.
    all = both(all, combine(Formula::Op::Coalesce, equal, boolean(false)));
  }
  return all ? all : boolean(true);
}

/// Reads a reference of another file (`like paper.table2`), which belongs to the studies that name it.
void importReference(StudyContext& context, const std::string& written, const ast::QualifiedName& name) {
  if (name.parts.size() != 2) return;
  context.declared_references.emplace(written, name.range);
  ModuleScope* module = context.context.scopeOf(name, context.scopeAt(name.range));
  if (!module) return;
  const auto& declared = module->ast->references;
  const int index = findNamed(declared, name.parts[1].name);
  if (index >= 0) return takeReference(context, *module, size_t(index), written, true);
  unknownName(context.emitter, "reference", name.parts[1], namesOf(declared),
              fmt::format(" of {}", module->file->path));
}

}  // namespace

FormulaPtr Context::column(const ast::CallExpr& call, const Site& at) {
  const bool one = call.arguments.size() == 1 && !call.arguments[0].name;
  const ast::Expr* argument = call.arguments.empty() ? nullptr : call.arguments[0].value.get();
  auto* text = one ? argument->as<ast::StringLiteral>() : nullptr;
  const ast::Identifier* word = one ? wordOf(*argument) : nullptr;
  if (!text && !word)
    return error(emitter.emit(at.range, WrongArguments, "column", "the name of one column",
                              argument ? written(argument->range) : "none"));
  // Cells are plain numbers unless another type is wanted: strings, levels and bools have no arithmetic.
  const bool number = !at.expected || at.expected->isError() || at.expected->isNumber();
  const Type type = number ? Type::number() : *at.expected;
  if (word) return cell(word->name, argument->range, false, at.place, type);
  return cell(text->value, parse::writtenRange(sources, argument->range, 0, text->value.size()), true, at.place, type);
}

FormulaPtr Context::cell(const std::string& column, source::Range range, bool in_quotes, const ExpressionScope& place,
                         const Type& type) {
  const std::vector<std::string>& header = place.columns->header;
  const int index = findNamed(header, column);
  if (index < 0)
    return error(
        diag::unknownName(emitter, range, "column", column, [&] { return in_quotes ? header : quoted(header); }));
  // Each use becomes a parameter of the formula, with its own type.
  auto& cells = place.columns->cells;
  cells.push_back({size_t(index), type});
  return make(Formula::Op::Parameter, type, range, {}, unsigned(cells.size() - 1));
}

void checkReferences(StudyContext& context) {
  const auto names = claimed(context);
  for (size_t i = 0; i < context.scope.ast->references.size(); ++i) {
    const ast::Identifier& name = context.scope.ast->references[i].name;
    auto [at, fresh] = context.declared_references.emplace(name.name, name.range);
    if (fresh)
      takeReference(context, context.scope, i, name.name, names.contains(name.name));
    else
      duplicateName(context.emitter, "reference", name, at->second);
  }
  for (const auto& [written, name] : names)
    if (name->parts.size() > 1) importReference(context, written, *name);
}

std::optional<FormulaPtr> weightOf(StudyContext& context, const ast::Expr& expr) {
  constexpr size_t kMostRows = 2000;
  const auto* dotted = expr.as<ast::NameExpr>();
  if (!dotted || dotted->name.parts.size() != 2) return std::nullopt;
  const ast::Identifier &name = dotted->name.parts[0], &column = dotted->name.parts[1];
  const auto& references = context.scope.ast->references;
  const int index = findNamed(references, name.name);
  if (index < 0 && !diag::closest(name.name, namesOf(references)())) return std::nullopt;
  if (index < 0) return unknownName(context.emitter, "reference", name, namesOf(references)), FormulaPtr();
  context.note(name, context.scope.ast->references[index].name.range);
  const auto rows = readReference(context, context.scope, size_t(index), name.name, true, &column);
  if (!rows) return FormulaPtr();
  Formula choose = formulaOf(Formula::Op::Choose, Type::number(), expr.range);
  for (const Published::Row& row : rows->rows)
    for (const auto& [metric, value] : row.metrics)
      if (metric == kWeight) {
        choose.operands.push_back(belongs(context.study, row, expr.range));
        choose.operands.push_back(constantOf(Value::number(value), Type::number(), expr.range));
      }
  if (choose.operands.size() > 2 * kMostRows) {
    context.emitter.emit(expr.range, BadReference, name.name, fmt::format("has more than {} weights", kMostRows));
    return FormulaPtr();
  }
  // A point without a row weighs 0, which is refused once the points are known.
  choose.operands.push_back(constantOf(Value::number(Rational(0)), Type::number(), expr.range));
  return std::make_shared<const Formula>(std::move(choose));
}

void checkReferencesUsed(Checking& context, const ast::Module& module) {
  if (module.studies.empty()) return;
  for (const ast::ReferenceDecl& declaration : module.references)
    if (!context.used_references.contains(declaration.name.name))
      context.emitter.emit(declaration.name.range, UnusedReference, declaration.name.name)
          .note("its names must be parameters and metrics of the study that it is for");
}

}  // namespace expc::check
