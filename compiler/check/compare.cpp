// Comparisons and aggregates. They are checked in the order in which they read each other, so that the inner one of
// `difference(gain)` is complete. A comparison needs a baseline to compare with, and a function that makes
// sense for its subject: ratios only of positive values, efficiency only over levels that count something. An
// aggregate needs no baseline; its values have no level of the factors that it goes over.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(CompareWithoutBaseline, "'{0}' compares over '{1}', which has no baseline");
EXPC_DIAGNOSTIC(EfficiencyOfNonRate, "efficiency takes a rate, but '{0}' is of type {1}");
EXPC_DIAGNOSTIC(EfficiencyOverNonNumber, "efficiency needs levels that count something, but {0}");
EXPC_DIAGNOSTIC(ComparedTwice, "'{0}' compares over '{1}' already");
EXPC_DIAGNOSTIC(RatioOfNonPositive, "'{0}' can be zero or negative, so a ratio of it has no meaning");
EXPC_DIAGNOSTIC(AggregatedAway, "'{0}' no longer has '{1}'");
EXPC_DIAGNOSTIC(OfProcess, "'{0}' is one value of a whole process, and has no '{1}'");
EXPC_DIAGNOSTIC(NoAggregate, "'{0}' of '{1}' has no meaning: {2}");
EXPC_DIAGNOSTIC(ScalingMismatch, "'{0}' is named {1} scaling, but {2}");

using Function = Comparison::Function;

constexpr base::Word<Function> kFunctions[] = {{"speedup", Function::Speedup},
                                               {"ratio", Function::Ratio},
                                               {"difference", Function::Difference},
                                               {"efficiency", Function::Efficiency},
                                               {"max_gap", Function::MaxGap},
                                               {"geomean", Function::Geomean},
                                               {"mean", Function::Mean},
                                               {"sum", Function::Sum},
                                               {"median", Function::Median},
                                               {"min", Function::Min},
                                               {"max", Function::Max}};

std::optional<Function> findFunction(StudyContext& context, const ast::QualifiedName& callee) {
  const ast::Identifier& last = callee.parts.back();
  const auto function = callee.parts.size() == 1 ? base::valueOf(kFunctions, last.name) : std::nullopt;
  if (function) return function;
  return unknownName(context.emitter, "comparison function", last, words::texts(words::Role::Comparison));
}

/// Whether a metric's declared range contains zero or less.
bool canBeNonPositive(const Metric& metric) {
  if (!metric.refinement) return false;
  const auto nonPositive = [](const Value& value) { return value.asNumber()->sign() <= 0; };
  return std::ranges::any_of(metric.refinement->set, nonPositive) ||
         (metric.refinement->lower && metric.refinement->lower->sign() <= 0);
}

/// Whether the result of a function is in its subject's unit; quotients are ratios.
bool keepsUnit(Function function) { return function == Function::Difference || function == Function::MaxGap; }

/// Checks all comparisons of a study, each after the one that it compares again, wherever that is declared.
struct Comparisons {
  using enum Comparison::Function;
  StudyContext& context;
  diag::Emitter& emitter = context.emitter;
  Study& study = context.study;
  const std::vector<ast::CompareDecl>& declared = context.declaration->compares;

  void run() {
    implied();
    const auto needs = [&](size_t at, auto visit) {
      if (const ast::Identifier* word = argument(declared[at]))
        for (size_t i = 0; i < declared.size(); ++i)
          if (declared[i].name.name == word->name) visit(i);
    };
    inOrder(
        declared.size(), needs, [&](size_t at) { one(declared[at]); },
        [&](size_t at) {
          context.emitter.emit(declared[at].name.range, LetCycle, "comparison", declared[at].name.name);
        });
  }

  /// Adds the metrics of whole processes, which have no level of inside factors: to everything that follows they are
  /// aggregates over these.
  void implied() {
    std::vector<unsigned> inside;
    for (unsigned factor = 0; factor < study.factors.size(); ++factor)
      if (study.factors[factor].inside) inside.push_back(factor);
    for (unsigned metric = 0; metric < study.metrics.size() && !inside.empty(); ++metric) {
      if (!study.metrics[metric].of_process || study.metrics[metric].series) continue;
      Comparison whole;
      whole.name = whole.text = study.metrics[metric].name;
      whole.range = study.metrics[metric].range;
      whole.function = OfProcess;
      whole.metric = metric;
      whole.over = Comparison::kNoFactor;
      whole.aggregated = whole.gone = inside;
      whole.dimension = study.metrics[metric].dimension;
      study.comparisons.push_back(std::move(whole));
      ++study.implied;
    }
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
    if (declaration.stated && study.findComparison(comparison.name) >= 0) return;
    if (!isFresh(emitter, "comparison", comparison, study.comparisons)) return;
    auto function = findFunction(context, declaration.call.callee);
    const auto subject = arguments(declaration, function) ? context.subject(*argument(declaration)) : std::nullopt;
    // Look up every name before giving up, so that one mistake does not hide another.
    const auto over = factors(declaration);
    const bool narrowed = where(declaration, comparison);
    comparison.incomplete = declaration.partial;
    if (function) comparison.function = *function;
    if (subject) {
      comparison.inner = subject->comparison;
      comparison.metric = subject->metric;
      if (const Comparison* inner = study.comparison(comparison.inner)) comparison.gone = inner->gone;
    }
    if (!over) return;
    if (function && comparison.aggregates()) {
      if (subject) aggregate(declaration, *over, narrowed, comparison);
      return;
    }
    // Nothing is known of the arguments of an unknown function.
    if (!function && !declaration.against) return;
    if (over->size() != 1)
      return void(emitter.emit(declaration.over_range, WrongArguments, declaration.call.callee.parts.back().name,
                               "one factor after 'over'", over->empty() ? "'*'" : std::to_string(over->size())));
    comparison.over = over->front();
    const Factor& factor = study.factors[comparison.over];
    // The factor's levels were refused and reported.
    if (factor.levels.empty()) return;
    if (!against(declaration, factor, comparison) || !function || !subject || !narrowed) return;
    if (!isThere(comparison, comparison.over, declaration.over_range) || !suits(declaration, factor, comparison))
      return;
    comparison.values = function;
    comparison.dimension =
        keepsUnit(*function) ? study.dimensionOf(comparison.inner, comparison.metric) : Dimension::ratio();
    std::string level = comparison.previous ? "previous" : factor.levels[comparison.against].label;
    if (*function == Efficiency) namesScaling(declaration, factor);
    const bool time = *function == Efficiency && !study.metrics[comparison.metric].dimension.isRate();
    const bool named = declaration.call.arguments.size() == 2;
    comparison.weak = time && named && scaling(declaration) == "weak";
    if (time && !named) comparison.shared = sharesWork(factor);
    // The text names the baseline even where the study leaves it to the factor.
    comparison.text = fmt::format("{} against {}", written(declaration, factor.name), level);
    if (comparison.where) comparison.text += " where " + context.written(declaration.where->range);
    study.comparisons.push_back(std::move(comparison));
  }

  /// The call and what it goes over, as written.
  std::string written(const ast::CompareDecl& declaration, std::string_view over) {
    if (declaration.stated) return declaration.name.name;
    return fmt::format("{} over {}", context.written(declaration.call_range), over);
  }

  /// Whether what a comparison reads has a level of the factor; reports otherwise.
  bool isThere(const Comparison& comparison, unsigned factor, source::Range range) {
    const Comparison* inner = study.comparison(comparison.inner);
    return !inner || !inner->lacks(factor) || goneFactor(context, *inner, factor, range);
  }

  /// The factors after `over`, each once; empty for `*`. Nothing after a report.
  std::optional<std::vector<unsigned>> factors(const ast::CompareDecl& declaration) {
    std::vector<unsigned> found;
    Once seen;
    bool good = true;
    for (const ast::Identifier& name : declaration.over) {
      const auto factor = context.factor(name);
      good &= factor && seen.add(emitter, "factor", study.factors[*factor].name, name.range);
      if (factor) found.push_back(*factor);
    }
    return good ? std::optional(std::move(found)) : std::nullopt;
  }

  /// Checks the condition behind `where`; false after a report.
  bool where(const ast::CompareDecl& declaration, Comparison& comparison) {
    if (!declaration.where) return true;
    comparison.where = context.condition(*declaration.where, "the condition of 'where'");
    return comparison.where != nullptr;
  }

  /// Checks an aggregate over these factors (none: all that are left) and appends it; leaves it out after a report.
  void aggregate(const ast::CompareDecl& declaration, std::vector<unsigned> over, bool narrowed,
                 Comparison& comparison) {
    const std::string& name = declaration.call.callee.parts.back().name;
    const Comparison* inner = study.comparison(comparison.inner);
    if (declaration.against)
      return void(
          emitter.emit(declaration.against->range, WrongArguments, name, "no level to compare with", "'against'"));
    for (unsigned factor = 0; factor < study.factors.size() && declaration.over.empty(); ++factor)
      if (!inner || !inner->lacks(factor)) over.push_back(factor);
    for (size_t i = 0; i < over.size(); ++i)
      if (!isThere(comparison, over[i], declaration.over_range)) return;
    comparison.over = Comparison::kNoFactor;
    comparison.values = inner ? inner->values : std::nullopt;
    comparison.dimension = study.dimensionOf(comparison.inner, comparison.metric);
    if (!suitsAggregate(declaration, comparison) || !weigh(declaration, comparison) || !narrowed) return;
    if (comparison.where && !readsThere(*comparison.where, comparison)) return;
    std::ranges::sort(over);
    comparison.aggregated = std::move(over);
    std::vector<unsigned> gone;
    std::ranges::set_union(comparison.aggregated, comparison.gone, std::back_inserter(gone));
    comparison.gone = std::move(gone);
    comparison.text = written(declaration, context.written(declaration.over_range));
    study.comparisons.push_back(std::move(comparison));
  }

  /// Whether an aggregate of the subject means something; reports otherwise.
  bool suitsAggregate(const ast::CompareDecl& declaration, const Comparison& comparison) {
    const ast::Identifier& word = *argument(declaration);
    const std::string& function = declaration.call.callee.parts.back().name;
    const Comparison* inner = study.comparison(comparison.inner);
    const Metric& metric = study.metrics[comparison.metric];
    if (!inner && metric.series) return seriesValue(emitter, word.range, metric);
    const bool signs = comparison.values ? keepsUnit(*comparison.values)
                                         : comparison.dimension == Dimension::share() || canBeNonPositive(metric);
    if (comparison.function == Geomean && signs)
      return emitter.emit(word.range, NoAggregate, function, word.name, "its values can be zero or negative")
          .note(inner ? inner->range : metric.range, "'mean' averages such values");
    if (comparison.function == Sum && comparison.dimension == Dimension::ratio())
      return emitter.emit(word.range, NoAggregate, function, word.name, "it would add ratios")
          .note(inner ? inner->range : metric.range, "'geomean' averages ratios");
    return true;
  }

  /// Checks the weight of an aggregate's parts: a number that each point tells, an exact metric, or a column of a
  /// reference.
  bool weigh(const ast::CompareDecl& declaration, Comparison& comparison) {
    if (declaration.call.arguments.size() < 2) return true;
    const ast::Expr& expr = *declaration.call.arguments[1].value;
    const ast::Identifier* word = wordOf(expr);
    if (const int index = word ? study.findMetric(word->name) : -1; index >= 0) {
      const Metric& metric = study.metrics[index];
      context.note(*word, metric.range);
      comparison.weight_metric = unsigned(index);
      if (metric.exact && metric.kind == study.metrics[comparison.metric].kind) return true;
      return emitter
          .emit(expr.range, TypeMismatch, "a weight", "an exact metric of the same trials, or a number",
                "'" + metric.name + "'")
          .note(metric.range, "it is declared here");
    }
    const auto published = weightOf(context, expr);
    comparison.weight = published ? *published : context.context.build(expr, context.place());
    if (!comparison.weight || comparison.weight->type.isError()) return false;
    if (!comparison.weight->type.isNumber())
      return emitter.emit(expr.range, TypeMismatch, "a weight", "a number", comparison.weight->type.name());
    return readsThere(*comparison.weight, comparison);
  }

  /// Whether a formula reads only factors of which the parts of an aggregate have a level; reports otherwise.
  bool readsThere(const Formula& formula, const Comparison& comparison) {
    for (const unsigned parameter : parametersOf(formula))
      if (const int factor = study.factor_of[parameter]; factor >= 0)
        if (!isThere(comparison, unsigned(factor), formula.range)) return false;
    return true;
  }

  /// The workload's condition under which more of a factor share the same work; null if it has none.
  FormulaPtr sharesWork(const Factor& factor) const {
    return factor.lockstep() ? nullptr : study.parameter(factor.parameters[0]).strong;
  }

  /// The second argument as written: "strong", "weak", or something else.
  std::string scaling(const ast::CompareDecl& declaration) const {
    return context.written(declaration.call.arguments[1].value->range);
  }

  /// Whether the call has one metric and for efficiency perhaps a kind of scaling; reports otherwise.
  bool arguments(const ast::CompareDecl& declaration, std::optional<Function> function) {
    const ast::CallExpr& call = declaration.call;
    std::string_view name = call.callee.parts.back().name;
    const bool scales = function == Efficiency && call.arguments.size() == 2;
    const bool weighs = (function == Geomean || function == Mean) && call.arguments.size() == 2 &&
                        call.arguments[1].name && call.arguments[1].name->name == "weight";
    if (scales && (call.arguments[1].name || !words::find(words::Role::Scaling, scaling(declaration))))
      return diag::unknownName(emitter, call.arguments[1].value->range, "kind of scaling", scaling(declaration),
                               words::texts(words::Role::Scaling));
    const bool aggregates = function && *function >= Geomean;
    if ((call.arguments.size() != 1 && !scales && !weighs) || call.arguments[0].name) {
      auto builder = emitter.emit(
          declaration.call_range, WrongArguments, name, aggregates ? "one metric or comparison" : "one metric",
          call.arguments.size() == 1 ? "a named argument" : countedArguments(call.arguments.size()));
      if (aggregates) builder.note("'geomean' and 'mean' take a weight too: 'mean(wall, weight = lines)'");
      return builder;
    }
    if (argument(declaration)) return true;
    if (const auto* selected = call.arguments[0].value->as<ast::IndexExpr>(); selected && aggregates)
      return emitter
          .emit(call.arguments[0].value->range, WrongArguments, name, "one metric or comparison", "a selected level")
          .note("leave the level out, and select it where '{0}' is judged: '{0}[…] >= …'", declaration.name.name);
    return emitter.emit(call.arguments[0].value->range, WrongArguments, name, "one metric", "an expression")
        .note("name it first: 'metric share = launch_time / wall'");
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
      if (declared && declared->baseline) return context.context.refuse();
      auto builder = emitter.emit(declaration.over_range, CompareWithoutBaseline, comparison.name, factor.name);
      if (study.hasWorkloadFactor() && comparison.over == 0)
        builder.note("name the level to compare with: 'against {}'", factor.levels.back().label);
      else
        builder.note(factor.range, "give the factor a 'baseline', or the comparison 'against' a level");
      return builder;
    }
    const ast::Identifier* word = wordOf(*declaration.against);
    const Type& type = study.parameter(factor.parameters[0]).type;
    // An enum may have a level called `previous`, which wins.
    bool is_level = type.isEnum() && type.enumeration->find("previous") >= 0;
    if (word && word->name == "previous" && !is_level) {
      comparison.previous = true;
      return true;
    }
    auto level =
        context.levelByPart(declaration.over[0], *declaration.against, comparison.over, "the level after 'against'");
    if (level) comparison.against = *level;
    return level.has_value();
  }

  /// Whether the function can be applied to the subject; reports otherwise.
  bool suits(const ast::CompareDecl& declaration, const Factor& factor, const Comparison& comparison) {
    source::Range range = declaration.call.arguments[0].value->range;
    const Metric& metric = study.metrics[comparison.metric];
    if (const Comparison* inner = study.comparison(comparison.inner); inner && inner->values)
      return suitsComparison(range, factor, comparison);
    if (metric.distribution || metric.series != (comparison.function == MaxGap)) {
      if (metric.series)
        seriesValue(emitter, range, metric);
      else
        emitter.emit(range, NotASeries, metric.name).note(metric.range, "it has one value per trial");
      return false;
    }
    // A gap is a distance: no direction and no sign matter.
    if (comparison.function == MaxGap) return true;
    // A derived metric may lack a direction.
    if (comparison.function == Speedup && !metric.better)
      return emitter.emit(range, NoDirection, metric.name)
          .note(metric.range, "write 'lower' or 'higher' after it, or take 'ratio'");
    if (comparison.function == Efficiency && !suitsEfficiency(declaration, metric, factor)) return false;
    if (comparison.function != Difference && canBeNonPositive(metric))
      return emitter.emit(range, RatioOfNonPositive, metric.name)
          .note(metric.refinement->range, "its values are declared here; 'difference' compares such values");
    return true;
  }

  /// Whether the function can be applied to a comparison, which asks for instance: does pinning gain less with
  /// more GPUs? Reports otherwise.
  bool suitsComparison(source::Range range, const Factor& factor, const Comparison& comparison) {
    const Comparison& inner = study.comparisons[*comparison.inner];
    // Over its own factor the inner comparison has no value at its baseline.
    for (const Comparison* at = &inner; at; at = study.comparison(at->inner))
      if (at->over == comparison.over)
        return emitter.emit(range, ComparedTwice, at->name, factor.name)
            .note(at->range, "at its own baseline it has no value to compare with");
    if (comparison.function == Ratio && keepsUnit(*inner.values))
      return emitter.emit(range, RatioOfNonPositive, inner.name)
          .note(inner.range, "it is a difference; 'difference' compares such values");
    if (comparison.function == Ratio || comparison.function == Difference) return true;
    return emitter
        .emit(range, WrongArguments, base::wordOf(kFunctions, comparison.function).str(), "a metric", "a comparison")
        .note(inner.range, "compare a comparison again by 'ratio' or 'difference'");
  }

  /// Whether efficiency can be computed: of a rate, or of a time with a stated kind of scaling, over positive
  /// numbers.
  bool suitsEfficiency(const ast::CompareDecl& declaration, const Metric& metric, const Factor& factor) {
    bool good = true;
    const bool time = metric.dimension == Dimension::of(Dimension::Time);
    if (!metric.dimension.isRate() && !(time && (declaration.call.arguments.size() == 2 || sharesWork(factor)))) {
      auto builder = emitter.emit(declaration.call.arguments[0].value->range, EfficiencyOfNonRate, metric.name,
                                  metric.dimension.typeName());
      if (time)
        builder.note(
            "declare which work this is the time of: 'efficiency({0}, strong)' if the work is the same at all "
            "levels, 'efficiency({0}, weak)' if it grows with them",
            metric.name);
      const auto other = std::ranges::find_if(study.metrics, &Dimension::isRate, &Metric::dimension);
      if (other != study.metrics.end()) builder.note(other->range, "'{}' is a rate", other->name);
      good = false;
    }
    // The levels enter the formula as numbers, by which the rate is divided.
    for (const Level& level : factor.levels) {
      const Rational* number = factor.lockstep() ? nullptr : level.values[0].asNumber();
      if (number && number->sign() > 0) continue;
      return emitter
          .emit(declaration.over_range, EfficiencyOverNonNumber,
                fmt::format("{} of '{}' is {}", level.label, factor.name, number ? "not above zero" : "no number"))
          .note(factor.range, "the factor is declared here");
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
          .emit(how.range, ScalingMismatch, declaration.name.name, strong ? "strong" : "weak",
                fmt::format("more '{}' {} the same work{}", factor.name, strong ? "do not share" : "share", *other))
          .note(condition->range, "it is shared if '{}'", context.written(condition->range));
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
      if (real < 0 || factor < 0 || !is_contained(read, unsigned(real))) continue;
      base::addOnce(factors, unsigned(factor));
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

diag::Refusal goneFactor(StudyScope& context, const Comparison& comparison, unsigned factor, source::Range range) {
  const Comparison* at = &comparison;
  while (!is_contained(at->aggregated, factor)) at = &context.study.comparisons[*at->inner];
  if (at->ofProcess()) {
    const Metric& metric = context.study.metrics[at->metric];
    const std::string file = metric.source ? metric.source->file : "";
    return context.emitter.emit(range, OfProcess, comparison.name, context.study.factors[factor].name)
        .note(at->range, "{}",
              !metric.source ? fmt::format("'{}' is measured of the process, which goes through '{}' by itself",
                                           at->name, context.study.factors[factor].name)
                             : fmt::format("'{}' is read from {}, no row of which says its '{}'", at->name,
                                           file.empty() ? "standard output" : "'" + file + "'",
                                           context.study.factors[factor].name));
  }
  return context.emitter.emit(range, AggregatedAway, comparison.name, context.study.factors[factor].name)
      .note(at->range, "'{}' aggregates over it", at->name);
}

void checkComparisons(StudyContext& context) { Comparisons{context}.run(); }

}  // namespace expc::check
