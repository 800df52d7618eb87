// Comparisons. They are checked in the order in which they compare each other, so that the inner one of
// `difference(gain)` is complete. A comparison needs a baseline to compare with, and a function that makes
// sense for its subject: ratios only of positive values, efficiency only over levels that count something.

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(CompareWithoutBaseline, Error, "'{0}' compares over '{1}', which has no baseline");
EXPC_DIAGNOSTIC(EfficiencyOfNonRate, Error, "efficiency takes a rate, but '{0}' is of type {1}");
EXPC_DIAGNOSTIC(EfficiencyOverNonNumber, Error, "efficiency needs levels that count something, but {0}");
EXPC_DIAGNOSTIC(ComparedTwice, Error, "'{0}' compares over '{1}' already");
EXPC_DIAGNOSTIC(RatioOfNonPositive, Error, "'{0}' can be zero or negative, so a ratio of it means nothing");
EXPC_DIAGNOSTIC(ScalingMismatch, Warning, "'{0}' is named {1} scaling, but {2}");

using Function = Comparison::Function;

constexpr base::Word<Function> kFunctions[] = {{"speedup", Function::Speedup},
                                               {"ratio", Function::Ratio},
                                               {"difference", Function::Difference},
                                               {"efficiency", Function::Efficiency},
                                               {"max_gap", Function::MaxGap}};

std::optional<Function> findFunction(StudyContext& context, const ast::QualifiedName& callee) {
  const ast::Identifier& last = callee.parts.back();
  const auto function = callee.parts.size() == 1 ? base::valueOf(kFunctions, last.name) : std::nullopt;
  if (function) return function;
  return unknownName(context.emitter, "comparison function", last, language::texts(language::Role::Comparison));
}

/// Whether a metric's declared range contains zero or less.
bool canBeNonPositive(const Metric& metric) {
  if (!metric.refinement) return false;
  const auto nonPositive = [](const Value& value) { return value.asNumber()->sign() <= 0; };
  return std::ranges::any_of(metric.refinement->set, nonPositive) ||
         (metric.refinement->lower && metric.refinement->lower->sign() <= 0);
}

/// Checks all comparisons of a study, each after the one that it compares again, wherever that is declared.
struct Comparisons {
  StudyContext& context;
  diag::Emitter& emitter = context.emitter;
  Study& study = context.study;
  const std::vector<ast::CompareDecl>& declared = context.declaration->compares;

  void run() {
    const auto needs = [&](size_t at, auto visit) {
      if (const ast::Identifier* word = argument(declared[at]))
        for (size_t i = 0; i < declared.size(); ++i)
          if (declared[i].name.name == word->name) visit(i);
    };
    inOrder(
        declared.size(), needs, [&](size_t at) { one(declared[at]); },
        [&](size_t at) {
          context.emitter.emit(declared[at].name.range, errors::LetCycle, "comparison", declared[at].name.name);
        });
  }

  /// The name in `speedup(name)`, or null.
  static const ast::Identifier* argument(const ast::CompareDecl& declaration) {
    const auto& arguments = declaration.call.arguments;
    return arguments.empty() || arguments[0].name ? nullptr : wordOf(*arguments[0].value);
  }

  /// Checks one comparison and appends it; leaves it out after a report.
  void one(const ast::CompareDecl& declaration) {
    Comparison comparison;
    comparison.name = declaration.name.name;
    comparison.doc = declaration.doc;
    comparison.range = declaration.name.range;
    // A comparison may not have a metric's name either, since criteria accept both.
    isFresh(emitter, "metric or comparison", comparison, study.metrics);
    if (!isFresh(emitter, "comparison", comparison, study.comparisons)) return;
    auto function = findFunction(context, declaration.call.callee);
    const auto subject = arguments(declaration, function) ? context.subject(*argument(declaration)) : std::nullopt;
    // Look up every name before giving up, so that one mistake does not hide another.
    const auto over = context.factor(declaration.over);
    comparison.incomplete = declaration.partial;
    if (!over) return;
    comparison.over = *over;
    const Factor& factor = study.factors[comparison.over];
    // The factor's levels were refused and reported.
    if (factor.levels.empty()) return;
    if (!against(declaration, factor, comparison) || !function || !subject) return;
    comparison.function = *function;
    comparison.inner = subject->comparison;
    comparison.metric = subject->metric;
    if (!suits(declaration, factor, comparison)) return;
    // Differences and gaps keep the subject's unit; quotients are ratios.
    bool keeps = *function == Function::Difference || *function == Function::MaxGap;
    Dimension of =
        comparison.inner ? study.comparisons[*comparison.inner].dimension : study.metrics[comparison.metric].dimension;
    comparison.dimension = keeps ? of : Dimension::ratio();
    std::string level = comparison.previous ? "previous" : factor.levels[comparison.against].label;
    if (*function == Function::Efficiency) namesScaling(declaration, factor);
    const bool time = *function == Function::Efficiency && !study.metrics[comparison.metric].dimension.isRate();
    const bool named = declaration.call.arguments.size() == 2;
    comparison.weak = time && named && scaling(declaration) == "weak";
    if (time && !named) comparison.shared = sharesWork(factor);
    // The text names the baseline even where the study leaves it to the factor.
    comparison.text =
        fmt::format("{} over {} against {}", context.expressions().written(declaration.call_range), factor.name, level);
    study.comparisons.push_back(std::move(comparison));
  }

  /// The workload's condition under which more of a factor share the same work; null if it has none.
  FormulaPtr sharesWork(const Factor& factor) const {
    return factor.lockstep() ? nullptr : study.workload->parameters[factor.parameters[0]].strong;
  }

  /// The second argument as written: "strong", "weak", or something else.
  std::string scaling(const ast::CompareDecl& declaration) const {
    return context.expressions().written(declaration.call.arguments[1].value->range);
  }

  /// Whether the call has one metric and for efficiency perhaps a kind of scaling; reports otherwise.
  bool arguments(const ast::CompareDecl& declaration, std::optional<Function> function) {
    const ast::CallExpr& call = declaration.call;
    std::string_view name = call.callee.parts.back().name;
    const bool scales = function == Function::Efficiency && call.arguments.size() == 2;
    if (scales && (call.arguments[1].name || !language::find(language::Role::Scaling, scaling(declaration))))
      return diag::unknownName(emitter, call.arguments[1].value->range, "kind of scaling", scaling(declaration),
                               language::texts(language::Role::Scaling));
    if ((call.arguments.size() != 1 && !scales) || call.arguments[0].name)
      return emitter.refuse(declaration.call_range, errors::WrongArguments, name, "one metric",
                            call.arguments.size() == 1 ? "a named argument" : errors::arguments(call.arguments.size()));
    if (argument(declaration)) return true;
    return emitter.build(call.arguments[0].value->range, errors::WrongArguments, name, "one metric", "an expression")
        .note({}, "name it first: 'metric share = launch_time / wall'")
        .refuse();
  }

  /// Sets the level that treated points are compared with: an explicit one, `previous`, or the factor's
  /// baseline.
  bool against(const ast::CompareDecl& declaration, const Factor& factor, Comparison& comparison) {
    if (!declaration.against && factor.baseline) {
      comparison.against = *factor.baseline;
      return true;
    }
    if (!declaration.against) {
      // A baseline that is declared but absent was refused, so its lack is no second mistake.
      const std::vector<ast::FactorDecl>& factors = context.declaration->factors;
      const ast::FactorDecl* declared = named(factors, factor.name);
      if (declared && declared->baseline) return context.expressions().refuse();
      auto builder = emitter.build(declaration.over.range, CompareWithoutBaseline, comparison.name, factor.name);
      if (study.hasWorkloadFactor() && comparison.over == 0)
        builder.note({}, "say which one it is compared with: 'against {}'", factor.levels.back().label);
      else
        builder.note(factor.range, "give the factor a 'baseline', or the comparison 'against' a level");
      return builder.refuse();
    }
    const ast::Identifier* word = wordOf(*declaration.against);
    const Type& type = study.workload->parameters[factor.parameters[0]].type;
    // An enum may have a level called `previous`, which wins.
    bool is_level = type.kind == Type::Kind::Enum && type.enumeration->find("previous") >= 0;
    if (word && word->name == "previous" && !is_level) {
      comparison.previous = true;
      return true;
    }
    auto level =
        context.levelByPart(declaration.over, *declaration.against, comparison.over, "the level after 'against'");
    if (level) comparison.against = *level;
    return level.has_value();
  }

  /// Whether the function can be applied to the subject; reports otherwise.
  bool suits(const ast::CompareDecl& declaration, const Factor& factor, const Comparison& comparison) {
    source::Range range = declaration.call.arguments[0].value->range;
    const Metric& metric = study.metrics[comparison.metric];
    if (comparison.inner) return suitsComparison(range, factor, comparison);
    if (metric.series != (comparison.function == Function::MaxGap)) {
      if (metric.series)
        errors::seriesValue(emitter, range, metric.name, metric.range);
      else
        emitter.build(range, errors::NotASeries, metric.name).note(metric.range, "it has one value a trial").emit();
      return false;
    }
    // A gap is a distance: no direction and no sign matter.
    if (comparison.function == Function::MaxGap) return true;
    // A derived metric may lack a direction.
    if (comparison.function == Function::Speedup && !metric.better)
      return emitter.build(range, errors::NoDirection, metric.name)
          .note(metric.range, "write 'lower' or 'higher' after it, or take 'ratio'")
          .refuse();
    if (comparison.function == Function::Efficiency && !suitsEfficiency(declaration, metric, factor)) return false;
    if (comparison.function != Function::Difference && canBeNonPositive(metric))
      return emitter.build(range, RatioOfNonPositive, metric.name)
          .note(metric.refinement->range, "its values are declared here; 'difference' compares such values")
          .refuse();
    return true;
  }

  /// Whether the function can be applied to a comparison, which asks for instance: does pinning gain less with
  /// more GPUs? Reports otherwise.
  bool suitsComparison(source::Range range, const Factor& factor, const Comparison& comparison) {
    const Comparison& inner = study.comparisons[*comparison.inner];
    // Over its own factor the inner comparison has no value at its baseline.
    for (const Comparison* at = &inner;; at = &study.comparisons[*at->inner]) {
      if (at->over == comparison.over)
        return emitter.build(range, ComparedTwice, at->name, factor.name)
            .note(at->range, "at its own baseline it has no value to compare with")
            .refuse();
      if (!at->inner) break;
    }
    bool positive = inner.function != Function::Difference && inner.function != Function::MaxGap;
    if (comparison.function == Function::Ratio && !positive)
      return emitter.build(range, RatioOfNonPositive, inner.name)
          .note(inner.range, "it is a difference; 'difference' compares such values")
          .refuse();
    if (comparison.function == Function::Ratio || comparison.function == Function::Difference) return true;
    return emitter
        .build(range, errors::WrongArguments, base::wordOf(kFunctions, comparison.function).str(), "a metric",
               "a comparison")
        .note(inner.range, "a comparison is compared again by 'ratio' or 'difference'")
        .refuse();
  }

  /// Whether efficiency can be computed: of a rate, or of a time with a stated kind of scaling, over positive
  /// numbers.
  bool suitsEfficiency(const ast::CompareDecl& declaration, const Metric& metric, const Factor& factor) {
    bool good = true;
    const bool time = metric.dimension == Dimension::of(Dimension::Time);
    if (!metric.dimension.isRate() && !(time && (declaration.call.arguments.size() == 2 || sharesWork(factor)))) {
      auto builder = emitter.build(declaration.call.arguments[0].value->range, EfficiencyOfNonRate, metric.name,
                                   metric.dimension.typeName());
      if (time)
        builder.note({},
                     "say what work it is the time of: 'efficiency({0}, strong)' where it is the same at all levels, "
                     "'efficiency({0}, weak)' where it grows with them",
                     metric.name);
      const auto other = std::ranges::find_if(study.metrics, &Dimension::isRate, &Metric::dimension);
      if (other != study.metrics.end()) builder.note(other->range, "'{}' is a rate", other->name);
      builder.emit();
      good = false;
    }
    // The levels enter the formula as numbers, by which the rate is divided.
    for (const Level& level : factor.levels) {
      const Rational* number = factor.lockstep() ? nullptr : level.values[0].asNumber();
      if (number && number->sign() > 0) continue;
      return emitter
          .build(declaration.over.range, EfficiencyOverNonNumber,
                 fmt::format("{} of '{}' is {}", level.label, factor.name, number ? "not above zero" : "no number"))
          .note(factor.range, "the factor is declared here")
          .refuse();
    }
    return good;
  }

  /// Warns if `strong` or `weak` contradicts the workload. In strong scaling all levels share the same work, in
  /// weak scaling each device gets its own; a workload's `strong` condition says which one its arguments mean.
  void namesScaling(const ast::CompareDecl& declaration, const Factor& factor) {
    if (declaration.call.arguments.size() != 2 || factor.lockstep()) return;
    const ast::Expr& how = *declaration.call.arguments[1].value;
    const bool strong = scaling(declaration) == "strong";
    for (const Use& use : study.uses) {
      const int real = use.parameter_of[factor.parameters[0]];
      const FormulaPtr condition = real < 0 ? nullptr : use.workload->parameters[real].strong;
      const auto other = condition ? whereOther(*condition, use, strong) : std::nullopt;
      if (!other) continue;
      context.emitter
          .build(how.range, ScalingMismatch, declaration.name.name, strong ? "strong" : "weak",
                 fmt::format("more '{}' {} the same work{}", factor.name, strong ? "do not share" : "share", *other))
          .note(condition->range, "it is shared where '{}'", context.expressions().written(condition->range))
          .emit();
      return;
    }
  }

  /// The place where a condition of a workload is not `wanted`: "" if the arguments of a use decide it, " at mode =
  /// weak" if levels do. Nothing if it is `wanted` everywhere, or cannot be told.
  std::optional<std::string> whereOther(const Formula& condition, const Use& use, bool wanted) const {
    std::vector<const Value*> values(use.workload->parameters.size());
    for (size_t i = 0; i < use.parameter_of.size(); ++i)
      if (use.parameter_of[i] >= 0 && use.arguments[i]) values[use.parameter_of[i]] = &*use.arguments[i];
    // The parameters that factors vary, with their factors; all combinations of the levels are tried.
    std::vector<unsigned> factors;
    for (unsigned i = 0; i < use.parameter_of.size(); ++i) {
      const int real = use.parameter_of[i], factor = study.factor_of[i];
      const auto read = parametersOf(condition);
      if (real < 0 || factor < 0 || std::ranges::count(read, static_cast<unsigned>(real)) == 0) continue;
      if (std::ranges::count(factors, static_cast<unsigned>(factor)) == 0)
        factors.push_back(static_cast<unsigned>(factor));
    }
    // Many combinations would take long, for a warning.
    constexpr size_t kMost = 10'000;
    size_t combinations = 1;
    for (const unsigned factor : factors)
      if ((combinations *= std::max<size_t>(1, study.factors[factor].levels.size())) > kMost) return std::nullopt;
    return whereOther(condition, use, wanted, factors, values, "");
  }

  std::optional<std::string> whereOther(const Formula& condition, const Use& use, bool wanted,
                                        const std::vector<unsigned>& open, std::vector<const Value*>& values,
                                        const std::string& at) const {
    if (open.empty()) {
      const Outcome outcome = evaluate(condition, {values.data(), values.size()});
      const Value* value = std::get_if<Value>(&outcome);
      return value && value->asBool() != wanted ? std::optional(at) : std::nullopt;
    }
    const Factor& factor = study.factors[open.front()];
    for (const Level& level : factor.levels) {
      for (size_t part = 0; part < factor.parameters.size(); ++part)
        if (const int real = use.parameter_of[factor.parameters[part]]; real >= 0) values[real] = &level.values[part];
      const std::string here = fmt::format("{}{} = {}", at.empty() ? " at " : at + ", ", factor.name, level.label);
      if (auto found = whereOther(condition, use, wanted, {open.begin() + 1, open.end()}, values, here)) return found;
    }
    return std::nullopt;
  }
};

}  // namespace

void checkComparisons(StudyContext& context) { Comparisons{context}.run(); }

}  // namespace expc::check
