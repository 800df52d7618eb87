// Names, literals and calls: what a word means at its place. A bare word is tried in this order: a level of the
// expected enum, a metric, a parameter, a `let` of the study or workload, a `let` of the file. Operators are in
// operators.cpp, constants and levels in constants.cpp.

#include "compiler/check/expression.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "compiler/check/named.h"
#include "runtime/base/entry.h"
#include "runtime/base/llvm.h"
#include "stdlib/stdlib.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(UnknownUnit, "unknown unit '{0}'");
EXPC_DIAGNOSTIC(UnknownLevel, "'{0}' is not a level of {1}");
EXPC_DIAGNOSTIC(ExpressionTooLarge, "this expression is too large");
EXPC_DIAGNOSTIC(MisplacedSystem, "only rules may use 'system'");

// Limit on lets and metrics that are defined by each other: each level recurses.
constexpr unsigned kMaxLetDepth = 100;

}  // namespace

Formula formulaOf(Formula::Op op, Type type, source::Range range, std::vector<FormulaPtr> operands,
                  unsigned parameter) {
  Formula formula;
  formula.op = op;
  formula.type = std::move(type);
  formula.range = range;
  formula.operands = std::move(operands);
  formula.parameter = parameter;
  return formula;
}

FormulaPtr Context::error(diag::Refusal) { return constantOf({}, Type::error(), {}); }

FormulaPtr constantOf(Value value, Type type, source::Range range) {
  Formula formula = formulaOf(Formula::Op::Constant, std::move(type), range);
  formula.constant = std::move(value);
  return std::make_shared<const Formula>(std::move(formula));
}

/// A copy of a `let`'s formula that claims the place of its use, so that all ranges of one expression lie in
/// one file.
static FormulaPtr movedTo(FormulaPtr formula, source::Range range) {
  Formula copy = *formula;
  copy.range = range;
  return std::make_shared<const Formula>(std::move(copy));
}

FormulaPtr Context::make(Formula formula) {
  using Op = Formula::Op;
  formula.looks_up = formula.op == Op::Lookup;
  formula.uses_system = formula.op == Op::System;
  // A formula is constant if its operands are and it reads nothing itself.
  bool constant = formula.op != Op::Parameter && formula.op != Op::Metric && !formula.looks_up && !formula.uses_system;
  uint64_t size = 1;
  for (const FormulaPtr& operand : formula.operands) {
    if (!operand) continue;
    if (operand->type.isError()) return error();
    constant &= operand->isConstant();
    formula.uses_system |= operand->uses_system;
    formula.looks_up |= operand->looks_up;
    size += operand->size;
  }
  // Shared lets count at each use, so the size bounds the time of evaluation, not only memory.
  if (size > kMaxFormulaSize)
    return error(emitter.emit(formula.range, ExpressionTooLarge)
                     .note("with its 'let's expanded it has more than {} parts", kMaxFormulaSize));
  formula.size = uint32_t(size);
  if (!constant) return std::make_shared<const Formula>(std::move(formula));
  // Fold by the same evaluator that runs later, so both agree on overflow and division by zero.
  Outcome outcome = evaluate(formula, {});
  if (const Failure* failure = std::get_if<Failure>(&outcome)) {
    reportFailure(*failure, "", "", emitter);
    return error();
  }
  return constantOf(std::get<Value>(std::move(outcome)), formula.type, formula.range);
}

FormulaPtr Context::build(const ast::Expr& expr, const ExpressionScope& place, const Type* expected) {
  // A text of a part finds names of a file where it is written, not where it is used.
  if (ModuleScope* written = place.study ? &scopeAt(*place.study, expr.range, *place.module) : place.module;
      written != place.module) {
    ExpressionScope there = place;
    there.module = written;
    return build(expr, there, expected);
  }
  const Site at{expr.range, place, expected};
  if (auto* node = expr.as<ast::NumberLiteral>()) return literal(*node, at);
  if (auto* node = expr.as<ast::StringLiteral>()) return text(*node, at);
  if (auto* node = expr.as<ast::BoolLiteral>())
    return constantOf(Value::boolean(node->value), Type::boolean(), expr.range);
  if (auto* node = expr.as<ast::NameExpr>()) return name(*node, at);
  if (auto* node = expr.as<ast::CallExpr>()) return variant(*node, at);
  if (auto* node = expr.as<ast::UnaryExpr>()) return unary(*node, at);
  if (auto* node = expr.as<ast::BinaryExpr>()) return binary(*node, at);
  if (auto* node = expr.as<ast::ListExpr>()) return sequence(node->elements, at, false);
  if (auto* node = expr.as<ast::TupleExpr>()) return sequence(node->elements, at, true);
  if (auto* node = expr.as<ast::RecordExpr>()) return record(node->fields, at);
  // These are no values here, but a name inside still has a meaning.
  if (auto* node = expr.as<ast::IndexExpr>()) lookUp(*node->base, place);
  std::string_view what = expr.as<ast::SetExpr>()     ? "a set"
                          : expr.as<ast::RangeExpr>() ? "a range"
                                                      : "a selection with '[…]'";
  return error(emitter.emit(expr.range, NotAValue, std::string(what)));
}

std::optional<Unit> Context::unit(std::string_view name, ModuleScope& scope, bool* refused) {
  return findUnit(name, [&](std::string_view part) -> std::optional<Unit> {
    const auto declared = [&](ModuleScope& where) -> std::optional<Unit> {
      LetEntry* const found = entryOf(where.units, part);
      if (!found) return std::nullopt;
      const FormulaPtr one = let(*found, {&where});
      const auto* number = one->isConstant() ? std::get_if<Value::Number>(&one->constant.node) : nullptr;
      if (!number && refused) *refused = true;
      return number ? std::optional(Unit{number->dimension, number->value}) : std::nullopt;
    };
    // The file's own units come before imported ones.
    if (auto own = declared(scope)) return own;
    for (const auto& [alias, module] : scope.imports)
      if (module)
        if (auto theirs = declared(*module)) return theirs;
    return std::nullopt;
  });
}

FormulaPtr Context::unitBelow(const ast::Expr& expr, const ExpressionScope& place) {
  const ast::Identifier* word = wordOf(expr);
  if (!word || namesValue(expr, place)) return nullptr;
  const auto one = unit(word->name, *place.module);
  return one ? constantOf(Value::number(one->scale, one->dimension), Type::number(one->dimension), expr.range)
             : nullptr;
}

FormulaPtr Context::literal(const ast::NumberLiteral& literal, const Site& at) {
  bool refused = false;
  auto unit = this->unit(literal.unit, *at.place.module, &refused);
  if (refused) return error();
  if (!unit) {
    // The unit is the end of the literal's token.
    const source::Range written{at.range.file, at.range.end - uint32_t(literal.unit.size()), at.range.end};
    auto builder = emitter.emit(written, UnknownUnit, literal.unit);
    builder.suggest(
        written, literal.unit, [&] { return namesOf(words::unitNames(), at.place.module->units)(); },
        [](const auto& names) { return "the units are " + diag::list(names); });
    return error(builder);
  }
  auto value = Rational::parse(literal.digits);
  // Values are held in base units from here on.
  if (value) value = *value * unit->scale;
  if (!value)
    return error(emitter.emit(at.range, NumberTooLarge, literal.digits + literal.unit)
                     .note("numbers are exact fractions of 64-bit whole numbers, in base units"));
  return constantOf(Value::number(*value, unit->dimension), Type::number(unit->dimension), at.range);
}

FormulaPtr Context::text(const ast::StringLiteral& literal, const Site& at) {
  // A path is relative to the file that writes it; make it relative to the root file's folder.
  if (!at.expected || at.expected->kind != Type::Kind::Path)
    return constantOf(Value::text(literal.value), Type::string(), at.range);
  return constantOf(Value::text(load::relativeTo(at.place.module->file->directory, literal.value)), Type::path(),
                    at.range);
}

/// The index of a parameter in scope, or -1.
static int findParameter(const ExpressionScope& place, std::string_view name) {
  return place.parameters ? findNamed(*place.parameters, name) : -1;
}

/// The declaration that a parameter's name means in an editor: the factor of the study that varies it, else the
/// workload's.
static source::Range declarationOf(const ExpressionScope& place, unsigned index) {
  const Parameter& parameter = (*place.parameters)[index];
  if (place.study)
    for (const ast::FactorDecl& factor : place.study->declaration->factors)
      if (factor.name.name == parameter.name) return factor.name.range;
  return parameter.range;
}

bool Context::namesValue(const ast::Expr& expr, const ExpressionScope& place) const {
  const ast::Identifier* word = wordOf(expr);
  if (!word) return !expr.as<ast::CallExpr>();
  return findParameter(place, word->name) >= 0 || (place.metrics && place.metrics->declares(word->name)) ||
         (place.lets && place.lets->contains(word->name)) || place.module->lets.contains(word->name);
}

FormulaPtr Context::name(const ast::NameExpr& name, const Site& at) {
  if (name.name.parts.size() > 1) return qualified(name, at);
  const ast::Identifier& word = name.name.parts.at(0);
  // `feasible` is not evaluated here: it counts as true, and the criterion remembers that it was asked.
  if (at.place.feasible && word.name == "feasible") {
    ++*at.place.feasible;
    return constantOf(Value::boolean(true), Type::boolean(), at.range);
  }
  if (at.expected && at.expected->isEnum()) return level(word, *at.expected->enumeration);
  if (at.place.metrics)
    if (FormulaPtr read = metric(word, at.place, false)) return movedTo(std::move(read), at.range);
  if (int index = findParameter(at.place, word.name); index >= 0) {
    note(word.range, declarationOf(at.place, unsigned(index)));
    return make(Formula::Op::Parameter, (*at.place.parameters)[index].type, at.range, {}, unsigned(index));
  }
  if (at.place.lets)
    if (FormulaPtr named = letOf(*at.place.lets, word, at)) return named;
  if (FormulaPtr named = letOf(at.place.module->lets, word, {at.range, {at.place.module}, nullptr})) return named;
  // The commonest mistake where a string is expected.
  if (at.expected && (at.expected->kind == Type::Kind::String || at.expected->kind == Type::Kind::Path))
    return error(emitter.emit(word.range, diag::UnknownName, "name", word.name, "")
                     .note("put a string in quotes")
                     .guess(word.range, fmt::format("\"{}\"", word.name)));
  // An expected Error means that the type is unknown, so the word may well be a level (lookUp).
  if (!at.expected || !at.expected->isError()) unknown(word, at.place);
  return error();
}

FormulaPtr Context::qualified(const ast::NameExpr& name, const Site& at) {
  const auto& parts = name.name.parts;
  // `system.gpus`, `record.field` or `module.let`.
  if (parts[0].name == "system") return systemProperty(name.name, at);
  if (findParameter(at.place, parts[0].name) >= 0) return field(name, at);
  ModuleScope* module = scopeOf(name.name, *at.place.module);
  if (!module) return error();
  FormulaPtr named = parts.size() == 2 ? letOf(module->lets, parts[1], {at.range, {module}, nullptr}) : nullptr;
  if (named) return named;
  if (module->enums.contains(parts[1].name))
    return error(emitter.emit(parts[1].range, diag::UnknownName, "value", parts[1].name, "")
                     .note("it is an enum; 'factor {}' without 'in' has all of its levels", parts[1].name));
  return error(unknownName(emitter, "value", parts[1], namesOf(module->lets)));
}

FormulaPtr Context::systemProperty(const ast::QualifiedName& name, const Site& at) {
  std::string property = joined(name, 1);
  int index = findSystemProperty(property);
  if (index < 0)
    return error(diag::unknownName(emitter, source::join(name.parts[1].range, name.parts.back().range),
                                   "property of the system", property, words::texts(words::Role::Property)));
  if (!at.place.system)
    return error(
        emitter.emit(at.range, MisplacedSystem)
            .note(
                "such a rule marks points that a machine cannot run; everything else must not depend on the machine"));
  return make(Formula::Op::System, systemProperties()[index].type, at.range, {}, unsigned(index));
}

ModuleScope* Context::module(const ast::Identifier& word, ModuleScope& scope) {
  if (const auto* found = entryOf(scope.imports, word.name)) {
    if (*found) note(word.range, {(*found)->ast->file, 0, 0});
    // Null if the import failed, which was reported.
    return *found;
  }
  // If some import failed, the name is most likely that module's, and the failure was reported.
  const bool failed = std::ranges::any_of(scope.imports, [](const auto& import) { return !import.second; });
  if (!failed && (stdlib::module(word.name) || scope.imports.empty()))
    emitter.emit(word.range, diag::UnknownName, "module", word.name, "")
        .note("{}",
              stdlib::module(word.name) ? fmt::format("write 'import std.{}'", word.name) : "nothing is imported");
  else if (!failed)
    unknownName(emitter, "module", word, namesOf(scope.imports));
  return nullptr;
}

void Context::unknown(const ast::Identifier& word, const ExpressionScope& place) {
  const Study* study = place.study;
  const int comparison = study ? study->findComparison(word.name) : -1;
  const int metric = study && study->workload ? study->workload->findMetric(word.name) : -1;
  // A value that is known only after a run.
  if (comparison >= 0 || metric >= 0) {
    const std::string_view measured = metric >= 0 ? "metric" : "comparison";
    note(word.range, metric >= 0 ? study->workload->metrics[metric].range : study->comparisons[comparison].range);
    emitter.emit(word.range, NotAValue, fmt::format("the {} '{}'", measured, word.name))
        .note("{}s have no value before a run; judge them by a criterion: criterion good: forall *: {} <= …", measured,
              word.name);
    return;
  }
  // A unit, written like a variable.
  if (findUnit(word.name) || place.module->units.contains(word.name)) {
    emitter.emit(word.range, diag::UnknownName, "name", word.name, "")
        .note("it is a unit: write '1{}' for one", word.name);
    return;
  }
  if (place.siblings && named(*place.siblings, word.name)) {
    emitter.emit(word.range, diag::UnknownName, "name", word.name, "")
        .note("a default is a constant; a 'let' in place of the parameter may use others and stand in arguments");
    return;
  }
  // `True` and `FALSE` are meant as the constants.
  const std::string lower = StringRef(word.name).lower();
  const bool truth = lower == "true" || lower == "false";
  unknownName(emitter, place.metrics && !truth ? "metric" : "name", word, [&] {
    if (truth) return std::vector{lower};
    // Candidates: what the place offers, then lets.
    std::vector<std::string> first;
    if (place.metrics)
      first = namesOf(place.metrics->metrics)();
    else if (place.columns)
      for (const std::string& column : place.columns->header) first.push_back(fmt::format("column({})", column));
    else if (place.parameters)
      first = namesOf(*place.parameters)();
    return namesOf(first, place.lets ? *place.lets : NameMap<LetEntry>(), place.module->lets)();
  });
}

bool Context::refused(const ast::Identifier& word, const ExpressionScope& place,
                      std::initializer_list<SymbolKind> kinds) {
  // The declarations in which the name may have been refused: the study and its workloads.
  std::vector<source::Range> owners = {place.workload};
  if (place.study) owners = {place.study->range};
  if (place.study)
    for (const diag::Inclusion& part : place.study->parts) owners.push_back(part.declared);
  if (place.study)
    for (const Use& use : place.study->uses) {
      // This metric exists in one of several workloads: it was not refused, but the others lack it.
      if (const int metric = use.workload->findMetric(word.name); metric >= 0)
        note(word.range, use.workload->metrics[metric].range);
      else
        owners.push_back(use.workload->range);
      for (const Workload* service : use.workload->services) owners.push_back(service->range);
      if (use.workload->lacks_service) return !refuse();
    }
  for (const source::Range& owner : owners)
    for (const SymbolKind kind : kinds)
      if (const auto found = names ? names->find(kind, word.name, names->declaredAt(owner)) : std::nullopt) {
        note(word.range, names->symbols()[*found].range);
        // refuse() counts and yields false; the answer is true.
        return !refuse();
      }
  return false;
}

FormulaPtr Context::level(const ast::Identifier& word, const EnumType& type) {
  int index = type.find(word.name);
  if (index < 0) {
    auto builder = emitter.emit(word.range, UnknownLevel, word.name, type.name);
    std::vector<std::string> names;
    builder.suggest(word.range, word.name, [&] { return names = namesOf(type.levels)(); });
    if (word.name == type.name)
      builder.note("it is the enum; 'factor {}' without 'in' has all of its levels", type.name);
    return error(builder.note(type.range, "{} has the levels {}", type.name, diag::list(names)));
  }
  note(word.range, type.levels[index].range);
  if (size_t fields = type.levels[index].fields.size(); fields > 0)
    return error(emitter.emit(word.range, WrongArguments, word.name, countedArguments(fields), "none")
                     .note(type.levels[index].range, "'{}' is declared here", word.name));
  return constantOf(Value::level(type, unsigned(index)), Type::of(type), word.range);
}

FormulaPtr Context::variant(const ast::CallExpr& call, const Site& at) {
  // A call is a level with a payload if an enum is expected, or else a function. `choose`, `max` and `min` may
  // yield an enum too, so they are tried first, unless the enum has a level of that name.
  const bool wants_level = at.expected && at.expected->isEnum();
  const std::string& callee = call.callee.parts[0].name;
  const bool bare = call.callee.parts.size() == 1;
  if (at.place.metrics && bare && !wants_level)
    if (FormulaPtr reduced = reduce(call, at)) return reduced;
  const bool choice = bare && words::find(words::Role::Choice, callee);
  if (choice && !(wants_level && at.expected->enumeration->find(callee) >= 0))
    return callee == "choose" ? choose(call, at) : callee == "count" ? count(call, at) : extreme(call, at);
  if (bare && at.place.columns && callee == "column") return column(call, at);
  if (bare && !wants_level && findLookup(callee) >= 0) return lookup(call, at);
  if (at.place.metrics && callee == "epochs_to") return epochsTo(call, at);
  if (at.place.metrics && !wants_level)
    return refused(call, at,
                   diag::unknownName(emitter, call.callee.range, "function of metrics", joined(call.callee),
                                     {"epochs_to", "max", "min", "median", "mean", "sum", "last", "count", "p99"}));
  if (!wants_level || !bare) {
    const std::string& function = call.callee.parts.back().name;
    if (!at.expected || !at.expected->isError())
      emitter.emit(at.range, NotAValue, fmt::format("the call '{}(…)'", function))
          .note("the functions of expressions are {}", diag::list(words::texts(words::Role::Choice)));
    return refused(call, at);
  }
  // Here it must be a level; refusals below look up the names in its arguments.
  const EnumType& type = *at.expected->enumeration;
  const ast::Identifier& word = call.callee.parts[0];
  int index = type.find(word.name);
  if (index < 0) {
    level(word, type);
    return refused(call, at);
  }
  const EnumType::Level& declared = type.levels[index];
  note(word.range, declared.range);
  if (declared.fields.size() != call.arguments.size())
    return refused(call, at,
                   emitter
                       .emit(at.range, WrongArguments, word.name, countedArguments(declared.fields.size()),
                             countedArguments(call.arguments.size()))
                       .note(declared.range, "'{}' is declared here", word.name));
  // Each argument of the payload must be constant and of the field's declared type.
  Formula formula = formulaOf(Formula::Op::Variant, *at.expected, at.range);
  formula.constant = Value::level(type, unsigned(index));
  for (const auto& [i, field] : llvm::enumerate(declared.fields)) {
    const ast::CallArgument& argument = call.arguments[i];
    if (argument.name && argument.name->name != field.name)
      return refused(
          call, at,
          unknownName(emitter, "argument", *argument.name,
                      field.name.empty() ? std::vector<std::string>{} : std::vector<std::string>{field.name}));
    auto value = constant(*argument.value, at.place, field.type, fmt::format("argument {} of '{}'", i + 1, word.name));
    formula.operands.push_back(value ? constantOf(std::move(*value), field.type, argument.value->range) : error());
  }
  return make(std::move(formula));
}

bool Context::tooDeep(source::Range range) {
  if (let_depth_ < kMaxLetDepth) return false;
  emitter.emit(range, ExpressionTooLarge).note("more than {} names are defined by one another here", kMaxLetDepth);
  return true;
}

FormulaPtr Context::metric(const ast::Identifier& word, const ExpressionScope& place, bool series) {
  // Finding a derived metric may declare it first, which recurses.
  if (tooDeep(word.range)) return error();
  ++let_depth_;
  const auto index = place.metrics->find(word.name);
  --let_depth_;
  if (!index) return refused(word, place, {SymbolKind::Metric}) ? error() : nullptr;
  const Metric& metric = place.metrics->metrics[*index];
  note(word.range, metric.range);
  if (metric.series != series) {
    if (metric.series)
      seriesValue(emitter, word.range, metric);
    else
      emitter.emit(word.range, NotASeries, metric.name)
          .note(metric.range, "it has one value per trial; declare a series as 'metric {} : float series'",
                metric.name);
    return error();
  }
  if (!place.metrics->use(metric, word.range)) return error();
  const Type type = Type::number(metric.dimension);
  // Write a derived metric out as its formula, so that terms of a plan read measured metrics only.
  if (!metric.derived) return make(Formula::Op::Metric, type, word.range, {}, *index);
  Formula formula = *metric.derived;
  formula.type = type;
  formula.range = word.range;
  return make(std::move(formula));
}

FormulaPtr Context::reduce(const ast::CallExpr& call, const Site& at) {
  if (!isReduction(joined(call.callee))) return nullptr;
  const auto positional = [](const ast::CallArgument& argument) { return !argument.name; };
  const auto given = std::ranges::find_if(call.arguments, positional);
  const bool one = std::ranges::count_if(call.arguments, positional) == 1;
  const bool choice = words::find(words::Role::Choice, joined(call.callee));
  const ast::Identifier* word = one ? wordOf(*given->value) : nullptr;
  // `max(a, b)` chooses among values of one trial. No series is derived, so that all are known here.
  const int known = word ? base::findNamed(at.place.metrics->metrics, word->name) : -1;
  if (choice && (known < 0 || !at.place.metrics->metrics[known].series)) return nullptr;
  const auto made = reduction(call, at.range, at.place);
  if (!made) return refused(call, at);
  if (!word)
    return refused(call, at,
                   emitter.emit(at.range, TypeMismatch, fmt::format("the argument of '{}'", joined(call.callee)),
                                "one series", written(at.range)));
  FormulaPtr series = metric(*word, at.place, true);
  if (!series) unknownName(emitter, "metric", *word, namesOf(at.place.metrics->metrics));
  if (!series || series->type.isError()) return error();
  const auto number = [&](double value) {
    return constantOf(Value::number(*Rational::parse(fmt::format("{}", value))), Type::number(), at.range);
  };
  if (at.place.metrics->metrics[series->parameter].distribution &&
      (made->take == plan::Reduction::Take::Last || made->skip + made->first + made->last > 0))
    return error(emitter.emit(at.range, NotASeries, word->name)
                     .note(at.place.metrics->metrics[series->parameter].range,
                           "a distribution has no first and no last values: leave some out where they are read, as in "
                           "'from csv(\"out.csv\", skip = 100)'"));
  const Type type = made->take == plan::Reduction::Take::Count ? Type::number() : series->type;
  return make(Formula::Op::Reduce, type, at.range,
              {series, number(double(made->take)), number(made->percentile), number(double(made->skip)),
               number(double(made->first)), number(double(made->last))});
}

FormulaPtr Context::epochsTo(const ast::CallExpr& call, const Site& at) {
  // The argument must be `series RELATION constant`.
  auto* condition = call.arguments.size() == 1 ? call.arguments[0].value->as<ast::BinaryExpr>() : nullptr;
  const ast::Identifier* word = condition && relationOf(opOf(condition->op)) ? wordOf(*condition->left) : nullptr;
  if (!word)
    return error(emitter.emit(at.range, TypeMismatch, "the argument of 'epochs_to'",
                              "a series and a bound, as in 'accuracy >= 97%'", written(at.range)));
  FormulaPtr series = metric(*word, at.place, true);
  if (!series) unknownName(emitter, "metric", *word, namesOf(at.place.metrics->metrics));
  if (!series || series->type.isError()) return error();
  auto limit = constant(*condition->right, at.place, series->type, "the bound");
  if (!limit) return error();
  if (const Metric& read = at.place.metrics->metrics[series->parameter]; read.distribution)
    return error(seriesValue(emitter, word->range, read));
  FormulaPtr bound = make(opOf(condition->op), Type::boolean(), call.arguments[0].value->range,
                          {series, constantOf(std::move(*limit), series->type, condition->right->range)});
  return make(Formula::Op::EpochsTo, Type::number(), at.range, {std::move(bound)});
}

FormulaPtr Context::refused(const ast::CallExpr& call, const Site& at, diag::Refusal refusal) {
  for (const ast::CallArgument& argument : call.arguments) lookUp(*argument.value, at.place);
  return error(refusal);
}

void Context::lookUp(const ast::Expr& expr, const ExpressionScope& place) {
  const Type unknown = Type::error();
  build(expr, place, &unknown);
}

FormulaPtr Context::letOf(NameMap<LetEntry>& lets, const ast::Identifier& word, const Site& at) {
  LetEntry* const found = entryOf(lets, word.name);
  if (!found) return nullptr;
  note(word.range, found->declaration->name.range);
  const FormulaPtr named = let(*found, at.place);
  return named->looks_up && !at.place.lookups ? misplacedLookup(word.name, at.range) : movedTo(named, at.range);
}

FormulaPtr Context::let(LetEntry& entry, const ExpressionScope& place) {
  if (entry.state == LetEntry::State::Done) return entry.formula;
  const ast::Identifier& word = entry.declaration->name;
  // It reads itself, directly or through others.
  if (entry.state == LetEntry::State::Active) {
    const bool is_unit = entryOf(place.module->units, word.name) == &entry;
    return error(emitter.emit(word.range, LetCycle, is_unit ? "unit" : "let", word.name));
  }
  if (tooDeep(word.range)) return error();
  entry.state = LetEntry::State::Active;
  ++let_depth_;
  ExpressionScope inside = place;
  // A let may be used in places where a machine must not matter.
  inside.system = false;
  if (!entry.declaration->value) {
    // `unit row` without a value is a base unit of its own.
    const Dimension own = Dimension::ofOwn(word.name);
    entry.formula = constantOf(Value::number(1, own), Type::number(own), word.range);
  } else {
    entry.formula = build(*entry.declaration->value, inside);
  }
  --let_depth_;
  entry.state = LetEntry::State::Done;
  return entry.formula;
}

}  // namespace expc::check
