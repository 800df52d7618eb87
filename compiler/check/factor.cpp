// Factors: their parameters, levels, baseline and activity, and what names of factors and levels mean
// (StudyScope). The factor of several workloads comes first.

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <unordered_map>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"
#include "runtime/base/format.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(FactorIsArgument, "'{0}' is both an argument and a factor");
EXPC_DIAGNOSTIC(NoLevels, "the factor '{0}' has no levels");
EXPC_DIAGNOSTIC(DuplicateLevel, "the level {0} of '{1}' is given twice");
EXPC_DIAGNOSTIC(BaselineNotLevel, "the baseline {0} is not a level of '{1}'");
EXPC_DIAGNOSTIC(InsideUntold, "nothing tells the command which levels of '{0}' are asked");
EXPC_DIAGNOSTIC(InsideLockstep, "'{0}' cannot vary in lockstep with '{1}'");
EXPC_DIAGNOSTIC(LockstepShape, "{0} must be a tuple of {1} values, as in {2}");

// Limit on factors of one study.
constexpr size_t kMaxFactors = 256;

/// The label of values that are not written in the file: "2", "(dali, nhwc)".
std::string labelOf(const std::vector<Value>& values) {
  return values.size() == 1 ? values[0].toString() : Value{CompositeValue{Type::Kind::Tuple, {}, values}}.toString();
}

/// Checks one factor. It is added even if some of its levels were refused, so that its name is known.
struct FactorChecker {
  StudyContext& context;
  const ast::FactorDecl& declaration;
  Study& study = context.study;
  Factor factor = {};

  void run() {
    const ast::Identifier& name = declaration.name;
    factor.name = name.name;
    factor.range = name.range;
    if (!isFresh(context.emitter, "factor", name, study.factors)) return;
    // Without its parameters only the names in its condition can be looked up.
    if (!parameters()) {
      if (declaration.when) active();
      return;
    }
    if (study.factors.size() == kMaxFactors)
      return void(context.emitter.emit(name.range, NotSupported,
                                       fmt::format("a study with more than {} factors", kMaxFactors)));
    levels();
    baseline();
    active();
    for (unsigned parameter : factor.parameters) study.factor_of[parameter] = int(study.factors.size());
    study.factors.push_back(std::move(factor));
  }

  /// Finds the parameters that it varies, which must be neither varied already nor fixed by an argument. False
  /// if there is no factor.
  bool parameters() {
    std::vector<ast::Identifier> names = declaration.parts;
    if (names.empty()) names.push_back(declaration.name);
    for (const ast::Identifier& name : names) {
      int index = study.findParameter(name.name);
      if (index < 0) {
        std::optional<std::string> meant;
        if (context.refused(name, {SymbolKind::Parameter})) return context.stray = true, false;
        unknownName(context.emitter, "parameter", name, namesOf(study.workload->parameters),
                    " of " + study.workload->name, &meant);
        // Uses of the parameter that was probably meant are no second mistake.
        if (meant) context.not_varied.insert(*meant);
        context.stray = true;
        return false;
      }
      unsigned parameter = unsigned(index);
      context.note(name, study.parameter(parameter).range);
      // A parameter may vary in one factor only, and once in it.
      const bool twice = is_contained(factor.parameters, parameter);
      if (twice || study.factor_of[index] >= 0) {
        source::Range first = twice ? names[0].range : study.factors[study.factor_of[index]].range;
        duplicateName(context.emitter, "factor", name, first);
        for (const ast::Identifier& part : names) context.not_varied.insert(part.name);
        return false;
      }
      // An argument fixes the parameter for the whole study, so it cannot vary.
      for (const Use& use : study.uses)
        if (use.argument_ranges[parameter].isValid()) {
          context.emitter.emit(name.range, FactorIsArgument, name.name)
              .note(use.argument_ranges[parameter], "it is fixed here; a factor varies, an argument does not");
          break;
        }
      factor.parameters.push_back(parameter);
    }
    return inside();
  }

  /// Whether all of its parameters are inside ones, or none is.
  bool inside() {
    const auto& parameters = study.workload->parameters;
    const auto is = [&](unsigned parameter) { return parameters[parameter].inside.has_value(); };
    const auto within = std::ranges::find_if(factor.parameters, is),
               beside = std::ranges::find_if_not(factor.parameters, is);
    factor.inside = within != factor.parameters.end();
    if (!factor.inside) return true;
    if (beside != factor.parameters.end()) {
      // Uses of them are no second mistake.
      for (const unsigned parameter : factor.parameters) context.not_varied.insert(parameters[parameter].name);
      context.stray = true;
      return context.emitter
          .emit(declaration.name.range, InsideLockstep, parameters[*within].name, parameters[*beside].name)
          .note(parameters[*within].range, "one process goes through its levels, while '{}' is the same",
                parameters[*beside].name);
    }
    const std::string& name = parameters[*within].name;
    if (declaration.when)
      badInside(context.emitter, declaration.when->range, name,
                "has levels at all points: leave some out with 'exclude', or 'where' of a claim");
    const bool range = declaration.levels && declaration.levels->as<ast::RangeExpr>();
    for (const Use& use : study.uses)
      if (range && use.workload->command && !isToldOf(*use.workload, name))
        context.emitter.emit(declaration.name.range, InsideUntold, name)
            .note(use.workload->range,
                  "write '${{{0}}}', or '${{{0}.first}}' and '${{{0}.last}}', in its arguments; "
                  "else list the levels that it goes through",
                  name);
    return true;
  }

  /// Fills the levels; refuses repeated ones and ones that a workload does not accept.
  void levels() {
    std::string what = fmt::format("a level of '{}'", factor.name);
    auto levels = declaration.levels ? context.levels(*declaration.levels, factor, what) : everyLevel();
    if (!levels) return;
    factor.declared = std::move(levels->declared);
    // Find repetitions by label first: a factor may have thousands of levels.
    std::unordered_multimap<std::string, size_t> known;
    for (Level& level : levels->levels) {
      const std::string label = labelOf(level.values);
      auto [at, end] = known.equal_range(label);
      at = std::find_if(at, end, [&](const auto& one) { return factor.levels[one.second].values == level.values; });
      if (at != end) {
        context.emitter.emit(level.range, DuplicateLevel, level.label, factor.name)
            .note(factor.levels[at->second].range, "the first one is here");
        continue;
      }
      // Report a range once, not for each of its values.
      if (!allowed(level, what)) {
        factor.levels.clear();
        return;
      }
      known.emplace(label, factor.levels.size());
      factor.levels.push_back(std::move(level));
    }
  }

  /// The levels of `factor precision`, without `in`: all that the parameter's type has.
  std::optional<Context::Levels> everyLevel() {
    const Parameter& parameter = study.parameter(factor.parameters[0]);
    const Type& type = parameter.type;
    Context::Levels all;
    const auto add = [&](Value value) {
      all.declared.push_back(value.toString());
      all.levels.push_back({{std::move(value)}, all.declared.back(), declaration.name.range});
    };
    if (!factor.lockstep() && type.kind == Type::Kind::Bool) {
      add(Value::boolean(false));
      add(Value::boolean(true));
    } else if (!factor.lockstep() && type.isEnum() && std::ranges::all_of(type.enumeration->levels, &noFields)) {
      for (unsigned at = 0; at < type.enumeration->levels.size(); ++at) add(Value::level(*type.enumeration, at));
    } else {
      const bool text = type.kind == Type::Kind::String || type.kind == Type::Kind::Path;
      return context.emitter.emit(declaration.name.range, NoLevels, factor.name)
          .note("list them, as in 'factor {} in {{ {} }}'; an enum or a bool has all of its levels without a list",
                factor.name,
                factor.lockstep() ? "(…, …), (…, …)"
                : text            ? "\"a\", \"b\""
                : type.isNumber() ? "1, 2, 4"
                                  : "…");
    }
    return all;
  }
  static bool noFields(const EnumType::Level& level) { return level.fields.empty(); }

  /// Whether every workload accepts the level's values.
  bool allowed(const Level& level, std::string_view what) {
    for (size_t i = 0; i < factor.parameters.size(); ++i)
      if (!context.allowed(level.values[i], factor.parameters[i], level.range, what)) return false;
    return true;
  }

  /// Finds the baseline among the levels, by value.
  void baseline() {
    // Without levels there was a report already.
    if (!declaration.baseline || factor.levels.empty()) return;
    auto baseline =
        context.levelValues(*declaration.baseline, factor, fmt::format("the baseline of '{}'", factor.name));
    if (!baseline) return;
    const auto found = std::ranges::find(factor.levels, *baseline, &Level::values);
    if (found != factor.levels.end()) {
      factor.baseline = unsigned(found - factor.levels.begin());
      return;
    }
    context.emitter.emit(declaration.baseline->range, BaselineNotLevel, labelOf(*baseline), factor.name)
        .note(declaration.levels ? declaration.levels->range : factor.range, "its levels are {}",
              diag::list(factor.declared));
  }

  /// The condition under which it varies: that of its parameter and its own.
  void active() {
    if (factor.parameters.size() == 1) factor.active = study.parameter(factor.parameters[0]).when;
    if (!declaration.when) return;
    FormulaPtr when = context.condition(*declaration.when, "the condition of 'when'");
    if (when) factor.active = both(factor.active, when);
  }
};

/// Refuses activities that depend on themselves. Whether a parameter has a value depends on its own `when` and
/// on the activity of its factor.
void refuseCycles(StudyContext& context) {
  const Study& study = context.study;
  const std::vector<Parameter>& parameters = study.workload->parameters;
  bool refused = !study.workload->valid;
  const auto needs = [&](size_t parameter, auto visit) {
    const int factor = study.factor_of[parameter];
    for (const FormulaPtr& condition :
         {parameters[parameter].when, factor < 0 ? nullptr : study.factors[factor].active})
      if (condition)
        for (unsigned read : parametersOf(*condition)) visit(read);
  };
  inOrder(
      parameters.size(), needs, [](size_t) {},
      [&](size_t parameter) {
        // One report is enough: the other circles usually share its names.
        if (std::exchange(refused, true)) return;
        const int factor = study.factor_of[parameter];
        context.emitter.emit(factor < 0 ? parameters[parameter].range : study.factors[factor].range, WhenCycle,
                             parameters[parameter].name);
      });
}

/// Adds the factor that chooses between several workloads; its levels are their labels.
void addWorkloadFactor(Study& study) {
  if (!study.hasWorkloadFactor()) return;
  Factor factor;
  factor.name = "workload";
  factor.parameters = {0};
  factor.range = study.range;
  const EnumType& type = *study.parameter(0).type.enumeration;
  for (const auto& [i, use] : llvm::enumerate(study.uses)) {
    factor.levels.push_back({{Value::level(type, i)}, use.label, use.range});
    factor.declared.push_back(use.label);
  }
  study.factor_of[0] = 0;
  study.factors.push_back(std::move(factor));
}

}  // namespace

std::optional<std::vector<Value>> StudyScope::levelValues(const ast::Expr& expr, const Factor& factor,
                                                          std::string_view what) {
  const auto& parameters = study.workload->parameters;
  if (!factor.lockstep()) {
    auto value = constant(expr, parameters[factor.parameters[0]].type, what);
    return value ? std::optional(std::vector<Value>{std::move(*value)}) : std::nullopt;
  }
  // A level of a lockstep factor is a tuple with one value for each of its parameters.
  auto* tuple = expr.as<ast::TupleExpr>();
  if (!tuple || tuple->elements.size() != factor.parameters.size())
    return emitter.emit(expr.range, LockstepShape, what, factor.parameters.size(), factor.name);
  std::vector<Value> values;
  for (size_t i = 0; i < tuple->elements.size(); ++i) {
    const Parameter& parameter = parameters[factor.parameters[i]];
    auto value = constant(*tuple->elements[i], parameter.type, fmt::format("'{}'", parameter.name));
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

std::optional<Context::Levels> StudyScope::levels(const ast::Expr& expr, const Factor& factor, std::string_view what) {
  if (!factor.lockstep()) return context.levels(expr, place(), study.parameter(factor.parameters[0]).type, what);
  // A single tuple is a set of one.
  std::vector<const ast::Expr*> elements = {&expr};
  if (const auto* members = membersOf(expr)) {
    elements.clear();
    for (const ast::ExprPtr& element : *members) elements.push_back(element.get());
  }
  Context::Levels result;
  bool good = true;
  for (const ast::Expr* element : elements) {
    auto values = levelValues(*element, factor, what);
    good &= values.has_value();
    if (!values) continue;
    // The label is the tuple as written, without comments and line breaks.
    std::vector<std::string> parts;
    for (const ast::ExprPtr& part : std::get<ast::TupleExpr>(element->node).elements)
      parts.push_back(context.written(part->range));
    std::string label = fmt::format("({})", fmt::join(parts, ", "));
    result.levels.push_back({std::move(*values), label, element->range});
    result.declared.push_back(label);
  }
  return good ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<unsigned> StudyScope::level(const ast::Expr& expr, unsigned index, std::string_view what) {
  const Factor& factor = study.factors[index];
  // The factor's levels were refused and reported.
  if (factor.levels.empty()) return std::nullopt;
  auto values = levelValues(expr, factor, what);
  return values ? levelOf(*values, factor, expr.range, labelOf(*values)) : std::nullopt;
}

std::optional<unsigned> StudyScope::levelOf(const std::vector<Value>& values, const Factor& factor, source::Range range,
                                            const std::string& label) {
  const auto found = std::ranges::find(factor.levels, values, &Level::values);
  if (found != factor.levels.end()) return unsigned(found - factor.levels.begin());
  EXPC_DIAGNOSTIC(UnknownLevel, "{0} is not a level of the factor '{1}'");
  return emitter.emit(range, UnknownLevel, label, factor.name)
      .note(factor.range, "its levels are {}", diag::list(factor.declared));
}

bool StudyScope::allowed(const Value& value, unsigned parameter, source::Range range, std::string_view what) {
  return std::ranges::all_of(study.uses, [&](const Use& use) {
    const int real = use.parameter_of[parameter];
    if (real < 0) return true;
    const Parameter& own = use.workload->parameters[real];
    return context.allows(value, range, own.type, own.refinement, what);
  });
}

/// The position of a parameter among those of a lockstep factor.
static size_t partOf(const Factor& factor, unsigned parameter) {
  return size_t(std::ranges::find(factor.parameters, parameter) - factor.parameters.begin());
}

/// Whether no two levels of a factor share the value of one of its parameters.
static bool identifies(const Factor& factor, unsigned parameter) {
  const size_t part = partOf(factor, parameter);
  for (size_t i = 0; i < factor.levels.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (factor.levels[i].values[part] == factor.levels[j].values[part]) return false;
  return !factor.levels.empty();
}

std::optional<unsigned> StudyScope::levelByPart(const ast::Identifier& name, const ast::Expr& expr, unsigned index,
                                                std::string_view what) {
  const Factor& factor = study.factors[index];
  if (name.name == factor.name || !factor.lockstep() || factor.levels.empty()) return level(expr, index, what);
  const unsigned parameter = unsigned(study.findParameter(name.name));
  const auto value = constant(expr, study.parameter(parameter).type, what);
  if (!value) return std::nullopt;
  const auto found = std::ranges::find_if(
      factor.levels, [&](const Level& one) { return one.values[partOf(factor, parameter)] == *value; });
  const std::vector<Value> wanted = found == factor.levels.end() ? std::vector<Value>{*value} : found->values;
  return levelOf(wanted, factor, expr.range, value->toString());
}

std::optional<std::vector<unsigned>> StudyScope::levelsByPart(const ast::Identifier& name, const ast::Expr& expr,
                                                              unsigned index, std::string_view what) {
  const Factor& factor = study.factors[index];
  // The factor's levels were refused and reported.
  if (factor.levels.empty()) return std::nullopt;
  const bool whole = !factor.lockstep() || name.name == factor.name;
  const auto parameter = unsigned(whole ? 0 : study.findParameter(name.name));
  const auto wanted =
      whole ? levels(expr, factor, what) : context.levels(expr, place(), study.parameter(parameter).type, what);
  if (!wanted) return std::nullopt;
  std::vector<unsigned> kept;
  bool good = true;
  for (const Level& one : wanted->levels) {
    std::vector<Value> values = one.values;
    if (!whole)
      for (const Level& level : factor.levels)
        if (level.values[partOf(factor, parameter)] == one.values[0]) values = level.values;
    const auto found = levelOf(values, factor, one.range, one.label);
    good &= found.has_value();
    if (found) kept.push_back(*found);
  }
  std::ranges::sort(kept);
  kept.erase(llvm::unique(kept), kept.end());
  return good ? std::optional(std::move(kept)) : std::nullopt;
}

std::optional<unsigned> StudyScope::factor(const ast::Identifier& name) {
  if (const int index = study.findFactor(name.name); index >= 0) {
    note(name, study.factors[index].range);
    return unsigned(index);
  }
  // Not a factor: it may be a refused one, or a parameter that is fixed, varied in lockstep, or misspelt
  // elsewhere.
  if (refused(name, {SymbolKind::Factor})) return {};
  const int parameter = study.findParameter(name.name);
  if (parameter < 0) return unknownName(emitter, "factor", name, namesOf(study.factors));
  note(name, study.parameter(parameter).range);
  if (not_varied.contains(name.name)) return context.refuse();
  // A part of a lockstep factor stands for the factor where its values tell the levels apart.
  if (const int at = study.factor_of[parameter]; at >= 0 && identifies(study.factors[at], unsigned(parameter)))
    return unsigned(at);
  auto builder = emitter.emit(name.range, diag::UnknownName, "factor", name.name, "");
  if (const int at = study.factor_of[parameter]; at >= 0)
    builder.note(study.factors[at].range,
                 "it varies in lockstep, and several levels share one of its values: write '{}'",
                 study.factors[at].name);
  else
    builder.note("this study does not vary this parameter");
  return builder;
}

void checkFactors(StudyContext& context) {
  addWorkloadFactor(context.study);
  for (const ast::FactorDecl& declaration : context.declaration->factors) FactorChecker{context, declaration}.run();
  refuseCycles(context);
}

}  // namespace expc::check
