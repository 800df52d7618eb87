// Assertions of criteria. The order of steps matters: the subject's pins bind factors first, then quantifiers bind the
// others (`*` the rest), then conditions `factor == level` do, then factors with one level to ask about. A factor that
// is still unbound makes the criterion silent. The bound comes last, since its unit is the subject's.

#include "compiler/check/assertion.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>

#include "compiler/check/named.h"
#include "runtime/base/entry.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(CriterionSilent, "the criterion '{0}' does not say what it means for {1}");
EXPC_DIAGNOSTIC(SelectsBaseline, "'{0}' compares with {1}, so it has no value there");
EXPC_DIAGNOSTIC(EmptyBand, "the band {0}..{1} holds nothing");
EXPC_DIAGNOSTIC(EqualityWithConfidence, "'{0}' varies from trial to trial, so no interval ever equals one value");
EXPC_DIAGNOSTIC(UnreachableBound, "{0} can never be {1}");
EXPC_DIAGNOSTIC(NotPublished, "the reference '{0}' publishes no '{1}'");
EXPC_DIAGNOSTIC(FeasibleWithoutEstimate, "'feasible' leaves out nothing: no memory of '{0}' is estimated");

/// Checks one assertion; each step reads what the earlier ones have set in `assertion`.
struct AssertionChecker {
  Claiming& claiming;
  const ast::Assertion& declaration;
  const std::vector<const ast::Quantifier*>& chain;
  StudyScope& context = claiming.context;
  diag::Emitter& emitter = context.emitter;
  const Study& study = context.study;
  const std::string& name = claiming.name;
  Assertion assertion = {};
  /// For each factor the place where it is pinned or quantified; invalid while it is not.
  std::vector<source::Range> bound_at = {};
  /// Some quantifier or selector was refused, so an unbound factor proves nothing.
  bool unknown = false;
  /// The subject stands behind the bound, which was reported.
  bool turned = false;

  /// `others` are the assertions with a subject that were checked before; `named` is the criterion's name.
  std::optional<Assertion> run(const std::vector<Assertion>& others, source::Range named) {
    assertion.text = context.written(declaration.range);
    assertion.range = declaration.range;
    bound_at.assign(study.factors.size(), {});
    assertion.infeasible = declaration.infeasible;
    assertion.absent = declaration.absent;
    // Quantifiers are checked even if the subject was refused.
    const bool judged = assertion.infeasible || subject();
    quantifiers();
    // Without a subject the bound cannot be judged, but its names have a meaning.
    if (!judged) {
      if (turned) return std::nullopt;
      for (const ast::ExprPtr* part : {&declaration.bound, &declaration.band_low, &declaration.band_high})
        if (*part) context.context.lookUp(**part, context.place());
      return std::nullopt;
    }
    pinAsOthers(others);
    pinOnlyLevels(named);
    silent(named);
    if (declaration.like)
      like();
    else if (assertion.absent)
      mayBeAbsent();
    else if (!assertion.infeasible)
      bound();
    return std::move(assertion);
  }

  const Comparison* comparison() const { return study.comparison(assertion.comparison); }
  const Metric& metric() const { return study.metrics[*assertion.metric]; }
  const std::string& subjectName() const { return study.nameOf(assertion.comparison, assertion.metric); }

  /// Resolves the subject and its selectors; false after a report.
  bool subject() {
    const ast::Expr* expr = declaration.subject.get();
    auto* index = expr->as<ast::IndexExpr>();
    if (index) expr = index->base.get();
    const ast::Identifier* word = wordOf(*expr);
    if (!word) return noSubject(*expr);
    const auto subject = context.subject(*word);
    if (subject) {
      assertion.comparison = subject->comparison;
      assertion.metric = subject->metric;
    }
    // Nothing is left to ask about factors that an aggregate reduces.
    if (comparison())
      for (const unsigned gone : comparison()->gone) bound_at[gone] = comparison()->range;
    if (index)
      for (const ast::CallArgument& selector : index->selectors) pin(selector);
    // A series is no single value; compared by max_gap it is one.
    if (!subject || comparison() || !metric().series) return subject.has_value();
    return seriesValue(emitter, word->range, metric());
  }

  /// Reports an expression in the place of a subject, and says how to write it.
  bool noSubject(const ast::Expr& expr) {
    auto builder = emitter.emit(expr.range, CriterionShape, name, "must judge a metric or a comparison");
    const auto* call = expr.as<ast::CallExpr>();
    const ast::Expr* other = declaration.bound.get();
    if (const auto* index = other ? other->as<ast::IndexExpr>() : nullptr) other = index->base.get();
    const ast::Identifier* word = other ? wordOf(*other) : nullptr;
    if (word && (study.findComparison(word->name) >= 0 || study.findMetric(word->name) >= 0)) {
      const auto written = [&](source::Range range) { return context.written(range); };
      std::string sign(StringRef(written({expr.range.file, expr.range.end, other->range.begin})).trim());
      sign.front() = sign.front() == '<' ? '>' : sign.front() == '>' ? '<' : sign.front();
      turned = true;
      const std::string mended = fmt::format("{} {} {}", written(declaration.bound->range), sign, written(expr.range));
      return builder.note("the subject stands first: '{}'", mended).fix(declaration.range, mended);
    }
    if (expr.as<ast::BinaryExpr>())
      builder.note("a metric may be derived: 'metric total = a + b', and 'total' judged");
    else if (!call)
      builder.note("write its name, and '[factor = level]' to look at one level");
    if (!call) return builder;
    const std::string& function = call->callee.parts.back().name;
    const bool aggregates = words::find(words::Role::Comparison, function);
    if (aggregates) builder.note("say over what, as in 'geomean(gain) over program'");
    if (!aggregates || words::find(words::Role::Taken, function))
      builder.note("of trials write the name alone; with a confidence the claim is about their median");
    return builder;
  }

  /// Checks one selector `[factor = level]`.
  void pin(const ast::CallArgument& selector) {
    if (!selector.name)
      return void(
          emitter.emit(selector.value->range, CriterionShape, name, "has a selector that is not 'factor = level'"));
    if (const auto factor = context.factor(*selector.name)) return pinAt(*factor, *selector.name, *selector.value);
    unknown = true;
  }

  /// Pins a factor to a level, and reports a comparison that would compare that level with itself.
  void pinAt(unsigned factor, const ast::Identifier& name, const ast::Expr& value) {
    if (!bind(factor, name.range)) return;
    auto level = context.levelByPart(name, value, factor, "the level");
    if (!level) return;
    assertion.pins.push_back({factor, *level});
    // `previous` has no partner at the first level.
    for (const Comparison* at = comparison(); at; at = study.comparison(at->inner)) {
      if (at->over != factor || *level != (at->previous ? 0 : at->against)) continue;
      emitter.emit(value.range, SelectsBaseline, at->name, study.factors[factor].levels[*level].label)
          .note(at->range, "the comparison is declared here");
    }
  }

  /// Marks a factor as bound at `range`; false after reporting that it was bound before.
  bool bind(unsigned factor, source::Range range) {
    if (comparison() && comparison()->lacks(factor)) return goneFactor(context, *comparison(), factor, range);
    if (bound_at[factor].isValid())
      return emitter.emit(range, QuantifiedTwice, study.factors[factor].name)
          .note(bound_at[factor], "it is bound here");
    bound_at[factor] = range;
    return true;
  }

  /// The quantifier `declared`, with its names and its number.
  Shared& shared(const ast::Quantifier& declared) {
    const auto [at, fresh] = claiming.quantifiers.try_emplace(&declared);
    if (!fresh) return at->second;
    at->second.quantifier.kind = declared.kind;
    for (const ast::Identifier& factor : declared.factors)
      at->second.factors.emplace_back(context.factor(factor), factor.range);
    if (declared.least) least(*declared.least, at->second.quantifier);
    return at->second;
  }

  /// Checks the number of `at least 3 of`, or its share.
  void least(const ast::Expr& expr, Quantifier& quantifier) {
    const auto value = context.number(expr, "the number behind 'at least'");
    if (!value) return;
    const Value::Number& number = std::get<Value::Number>(value->node);
    quantifier.share = number.dimension == Dimension::share();
    quantifier.least = number.value;
    const Rational& least = number.value;
    if (quantifier.share ? least.sign() > 0 && !(Rational(1) < least)
                         : number.dimension.isPlain() && least.isInteger() && least.sign() > 0)
      return;
    emitter.emit(expr.range, OutOfRange, "the number behind 'at least'", value->toString(),
                 "a whole number from 1, or a share up to 100%");
  }

  /// Reports a number behind `at least` that there are not as many combinations for.
  void enough(const ast::Expr& expr, const Quantifier& quantifier) {
    if (quantifier.share || unknown) return;
    Rational most(1);
    for (const unsigned factor : quantifier.factors) {
      size_t levels = study.factors[factor].levels.size();
      // A comparison has no value at the level that it compares with.
      for (const Comparison* at = comparison(); at; at = study.comparison(at->inner))
        if (at->over == factor) levels -= levels > 0;
      most = (most * Rational(int64_t(levels))).value_or(quantifier.least);
    }
    if (!(most < quantifier.least)) return;
    emitter.emit(expr.range, OutOfRange, "the number behind 'at least'", quantifier.least.toString(),
                 fmt::format("at most {}, the number of combinations", most.toString()));
  }

  /// Binds factors by quantifiers, then checks their conditions.
  void quantifiers() {
    // Named factors first, so that `*` stands for the rest, whatever the order.
    for (const ast::Quantifier* declared : chain) {
      Shared& of = shared(*declared);
      Quantifier& quantifier = assertion.quantifiers.emplace_back(of.quantifier);
      quantifier.factors.clear();
      for (const auto& [factor, range] : of.factors) {
        unknown |= !factor;
        if (!factor) continue;
        // Behind one quantifier an assertion may select a level of a factor that another one leaves to it.
        const auto selects = [&](const Pin& pin) { return pin.factor == *factor; };
        if (claiming.several && std::ranges::any_of(assertion.pins, selects)) {
          of.selected.try_emplace(*factor, bound_at[*factor]);
          continue;
        }
        // The first assertion behind it has reported that it is bound twice.
        if (of.checked && bound_at[*factor].isValid()) continue;
        if (!bind(*factor, range)) continue;
        quantifier.factors.push_back(*factor);
        of.bound.insert(*factor);
      }
    }
    // `*` takes the factors that nothing names.
    for (size_t i = 0; i < chain.size(); ++i) {
      if (!chain[i]->all) continue;
      for (unsigned factor = 0; factor < bound_at.size(); ++factor) {
        if (bound_at[factor].isValid()) continue;
        bound_at[factor] = chain[i]->range;
        assertion.quantifiers[i].factors.push_back(factor);
      }
    }
    for (size_t i = 0; i < chain.size(); ++i)
      if (chain[i]->least) enough(*chain[i]->least, assertion.quantifiers[i]);
    for (const ast::Quantifier* declared : chain)
      // Not for `*`, which has bound every factor.
      if (declared->where && !declared->all) narrow(*declared->where);
    // A condition may ask only about factors that are pinned or bound by its own or an outer quantifier.
    std::vector<bool> known(bound_at.size(), false);
    for (const Pin& pin : assertion.pins) known[pin.factor] = true;
    for (size_t i = 0; i < chain.size(); ++i) {
      for (unsigned factor : assertion.quantifiers[i].factors) known[factor] = true;
      Shared& of = shared(*chain[i]);
      if (chain[i]->where && !of.checked) where(*chain[i], of.quantifier, known);
      of.checked = true;
      assertion.quantifiers[i].where = of.quantifier.where;
      assertion.feasible |= chain[i]->where && feasibleParts(*chain[i]->where) > 0;
    }
  }

  /// `where method == lora` tells what the criterion means for a factor that nothing else binds: it pins that
  /// level.
  void narrow(const ast::Expr& expr) {
    auto* binary = expr.as<ast::BinaryExpr>();
    if (!binary) return;
    if (binary->op == ast::BinaryOp::And) {
      narrow(*binary->left);
      narrow(*binary->right);
    }
    const ast::Identifier* word = binary->op == ast::BinaryOp::Equal ? wordOf(*binary->left) : nullptr;
    const int factor = word ? study.findFactor(word->name) : -1;
    if (factor < 0 || bound_at[factor].isValid()) return;
    pinAt(unsigned(factor), *word, *binary->right);
  }

  /// The number of parts of `a and b and …` that are the word `feasible`.
  static unsigned feasibleParts(const ast::Expr& expr) {
    auto* binary = expr.as<ast::BinaryExpr>();
    if (binary && binary->op == ast::BinaryOp::And) return feasibleParts(*binary->left) + feasibleParts(*binary->right);
    const ast::Identifier* word = wordOf(expr);
    return word && word->name == "feasible" ? 1 : 0;
  }

  /// Checks the condition of a quantifier. `feasible` is taken out of it: it is a property of the criterion,
  /// which only a part of a conjunction can be.
  void where(const ast::Quantifier& declared, Quantifier& quantifier, const std::vector<bool>& known) {
    ExpressionScope place = context.place();
    unsigned feasible = 0;
    place.feasible = &feasible;
    quantifier.where = context.context.condition(*declared.where, place, "the condition of 'where'");
    if (!quantifier.where) return;
    // A use elsewhere, as in `feasible or gpus > 1`, cannot be separated from the condition.
    if (feasible > feasibleParts(*declared.where))
      emitter
          .emit(declared.where->range, CriterionShape, name,
                "must ask 'feasible' beside other conditions, joined by 'and'")
          .note("it leaves out the points that are expected to run out of memory, whatever else is asked");
    if (feasible > 0 && assertion.infeasible)
      emitter.emit(declared.where->range, CriterionShape, name,
                   "asks for points that are both feasible and infeasible");
    if (feasible > 0 && study.workload->estimates.empty())
      emitter.emit(declared.where->range, FeasibleWithoutEstimate, study.workload->name)
          .note(
              "it asks for estimates before the run; write 'infeasible or …' as the claim for what runs out of memory");
    for (unsigned parameter : parametersOf(*quantifier.where)) {
      int factor = study.factor_of[parameter];
      if (factor < 0 || known[factor]) continue;
      if (comparison() && comparison()->lacks(unsigned(factor))) {
        goneFactor(context, *comparison(), unsigned(factor), declared.where->range);
        continue;
      }
      emitter.emit(
          declared.where->range, CriterionShape, name,
          fmt::format("asks in 'where' about '{}', which no quantifier has bound so far", study.factors[factor].name));
    }
  }

  /// An `infeasible` beside other assertions is about the points that they select.
  void pinAsOthers(const std::vector<Assertion>& others) {
    for (unsigned factor = 0; factor < bound_at.size() && assertion.infeasible; ++factor) {
      if (bound_at[factor].isValid()) continue;
      std::set<unsigned> levels;
      for (const Assertion& other : others)
        for (const Pin& pin : other.pins)
          if (pin.factor == factor) levels.insert(pin.level);
      if (levels.size() != 1) continue;
      bound_at[factor] = others.front().range;
      assertion.pins.push_back({factor, *levels.begin()});
    }
  }

  /// Pins each unbound factor that leaves one level to ask about. A comparison has no value at the level it compares
  /// with, so a factor with a baseline and one other level has one reading.
  void pinOnlyLevels(source::Range named) {
    for (unsigned factor = 0; factor < bound_at.size(); ++factor) {
      if (bound_at[factor].isValid()) continue;
      const size_t levels = study.factors[factor].levels.size();
      std::optional<unsigned> without;
      for (const Comparison* at = comparison(); at; at = study.comparison(at->inner))
        if (at->over == factor) without = at->previous ? 0 : at->against;
      if (levels != (without ? 2 : 1)) continue;
      bound_at[factor] = named;
      assertion.pins.push_back({factor, without == 0u ? 1u : 0u});
    }
  }

  /// The selectors that the claim has, as written, with a comma behind them; "" if it has none.
  std::string selected() const {
    const auto* index = declaration.subject->as<ast::IndexExpr>();
    if (!index) return "";
    const ast::CallArgument &begin = index->selectors.front(), &end = index->selectors.back();
    const source::Range first = begin.name ? begin.name->range : begin.value->range;
    return context.written(source::join(first, end.value->range)) + ", ";
  }

  /// Looks for factors for which the criterion says nothing: neither quantified nor pinned. They stay open where rules
  /// may leave one level of each; else they are reported.
  void silent(source::Range named) {
    if (unknown) return;
    std::vector<unsigned> open;
    for (unsigned factor = 0; factor < bound_at.size(); ++factor)
      if (!bound_at[factor].isValid()) open.push_back(factor);
    if (open.empty()) return;
    if (declaration.subject) {
      assertion.subject_range = declaration.subject->range;
      assertion.selected = selected();
    }
    // An `infeasible` beside other assertions is about their points, which nothing here knows.
    const bool alone = !assertion.infeasible || !claiming.several;
    if (alone && std::ranges::all_of(open, [&](unsigned factor) { return isRuled(factor); }))
      assertion.open = std::move(open);
    else
      reportSilent(emitter, study, name, named, assertion, open, {});
  }

  /// Whether something but the factor itself decides at which of its levels there are points: a rule, its activity, or
  /// what a comparison is narrowed to.
  bool isRuled(unsigned factor) const {
    const auto reads = [&](unsigned parameter) { return study.factor_of[parameter] == int(factor); };
    for (const Comparison* at = comparison(); at; at = study.comparison(at->inner))
      if (at->where && std::ranges::any_of(parametersOf(*at->where), reads)) return true;
    return study.factors[factor].active || std::ranges::any_of(study.rules, [&](const Rule& rule) {
             return !rule.usesSystem() && std::ranges::any_of(rule.parameters, reads);
           });
  }

  /// Reports `absent(…)` of what every trial that counts has. Nothing is known of what is measured from outside.
  void mayBeAbsent() {
    std::vector<unsigned> read = {*assertion.metric};
    if (metric().derived) read = metricsOf(*metric().derived);
    for (const unsigned one : read)
      if (const auto& source = study.metrics[one].source; !source || source->optional) return;
    const Metric& first = study.metrics[read.front()];
    emitter
        .emit(declaration.subject->range, CriterionShape, name,
              fmt::format("asks whether '{}' is absent, and no trial that counts lacks it", subjectName()))
        .note(first.range, "write 'optional' here if the output may lack it");
  }

  Dimension dimension() const { return study.dimensionOf(assertion.comparison, assertion.metric); }

  /// Checks agreement with published values: `gain like table2 within 5%`.
  void like() {
    const std::string wanted = joined(*declaration.like);
    const int index = findNamed(study.references, wanted);
    if (index < 0) {
      // A reference that was refused, or does not fit this study, was reported.
      if (const auto* refused = entryOf(context.declared_references, wanted))
        return context.context.note(declaration.like->parts.back().range, *refused);
      return void(diag::unknownName(emitter, declaration.like->range, "reference", wanted, namesOf(study.references)));
    }
    assertion.like = unsigned(index);
    const Published& published = study.references[*assertion.like];
    context.context.note(declaration.like->parts.back().range, published.range);
    // Some row must publish the metric, or a part from which it is derived.
    const bool there = std::ranges::any_of(published.rows, [&](const Published::Row& row) {
      return std::ranges::any_of(row.metrics, [&](const auto& cell) { return publishes(cell.first); });
    });
    if (!there)
      emitter.emit(declaration.like->range, NotPublished, published.name, metric().name)
          .note(published.range, "the reference is declared here");
    // Without `within` agreement means 10 %.
    assertion.agreement = *Rational::make(1, 10);
    if (!declaration.like_within) return;
    if (auto share = properShare(context, *declaration.like_within, "the agreement")) assertion.agreement = *share;
  }

  /// Whether the judged metric is `published` itself or derived from it.
  bool publishes(unsigned published) const {
    if (published == *assertion.metric) return true;
    return metric().derived && is_contained(metricsOf(*metric().derived), published);
  }

  /// A bound in the subject's unit; nothing after a report. A plain number may be bounded by a share.
  std::optional<Rational> limit(const ast::Expr& expr, std::string_view what) {
    auto value = context.number(expr, what);
    if (!value) return std::nullopt;
    const Value::Number& number = std::get<Value::Number>(value->node);
    if (number.dimension == dimension()) return number.value;
    if (dimension().isPlain() && number.dimension == Dimension::share()) return number.value;
    auto builder = emitter.emit(expr.range, UnitMismatch, fmt::format("'{}'", subjectName()),
                                describe(Type::number(dimension())), what, describe(Type::number(number.dimension)));
    if (dimension() == Dimension::ratio()) builder.note("a Ratio is written with 'x', as in 1.2x");
    if (dimension() == Dimension::share()) builder.note("a Share is written with '%', as in 95%");
    if (!dimension().isPure() && number.dimension.isPlain())
      builder.note("write its unit, as in {}{}", context.written(expr.range), dimension().baseUnit());
    return builder;
  }

  /// Checks `>= bound` or `within low..high`, and that it can be reached.
  void bound() {
    // A study's parameter stands for a value that `-D` may replace, so that texts have the value.
    auto written = [&](const ast::Expr& expr) {
      const ast::Identifier* word = wordOf(expr);
      const bool replaceable = word && study.declaration && base::named(study.declaration->params, word->name);
      const auto value = replaceable ? context.number(expr, "the bound") : std::nullopt;
      return value ? value->toString() : context.written(expr.range);
    };
    if (declaration.band_low && declaration.band_high) {
      auto low = limit(*declaration.band_low, "the band's beginning");
      auto high = limit(*declaration.band_high, "the band's end");
      if (!low || !high) return;
      source::Range range = source::join(declaration.band_low->range, declaration.band_high->range);
      const std::string first = written(*declaration.band_low), last = written(*declaration.band_high);
      if (*high <= *low) return void(emitter.emit(range, EmptyBand, first, last));
      std::string text = fmt::format("within {}..{}", first, last);
      if (declaration.give) give(*low, *high, text);
      assertion.bound = {Relation::Within, low->toDouble(), high->toDouble(), std::move(text)};
      return void(
          refuseUnreachable(context, {*assertion.metric, assertion.comparison}, assertion.bound, range, *low, *high));
    }
    auto relation = declaration.relation ? relationOf(opOf(*declaration.relation)) : std::nullopt;
    if (!relation || !declaration.bound)
      return void(emitter.emit(declaration.subject->range, CriterionShape, name, "has no bound that can be judged")
                      .note("write '>= 1.2x', '<= 80GiB' or 'within 0.9x..1.1x'"));
    auto low = limit(*declaration.bound, "the bound");
    if (!low) return;
    assertion.bound = boundOf(*relation, *low, written(*declaration.bound));
    refuseUnreachable(context, {*assertion.metric, assertion.comparison}, assertion.bound, declaration.bound->range,
                      *low, *low);
  }

  /// Widens a band, as the old spelling `within 0.6x..0.7x give 10%` did: each end moves outwards by this share of
  /// itself.
  void give(Rational& low, Rational& high, std::string& text) {
    auto share = properShare(context, *declaration.give, "what a band gives");
    if (!share) return;
    std::vector<std::string> ends;
    const auto move = [&](Rational& end, int outwards, const ast::Expr& expr) {
      const auto factor = end.sign() == outwards ? Rational(1) + *share : Rational(1) - *share;
      const auto moved = factor ? end * *factor : std::nullopt;
      if (!moved) return false;
      end = *moved;
      ends.push_back(scaled(expr, *factor));
      return true;
    };
    if (!move(low, -1, *declaration.band_low) || !move(high, 1, *declaration.band_high))
      return void(emitter.emit(declaration.give->range, NumberTooLarge, text));
    const std::string band = llvm::join(ends, "..");
    auto old = emitter.emit(declaration.give->range, diag::DeprecatedSpelling, "'give'",
                            fmt::format("write 'within {}'", band));
    const source::Range whole = source::join(declaration.band_low->range, declaration.give->range);
    // A comment between the ends would be lost.
    if (context.written(whole).find("//") == std::string::npos) old.fix(whole, band);
    text += " give " + context.written(declaration.give->range);
  }

  /// A multiple of an end of a band as it is written: of a literal in its own unit, of anything else as a product.
  std::string scaled(const ast::Expr& end, const Rational& factor) const {
    const auto* literal = end.as<ast::NumberLiteral>();
    const auto number = literal ? Rational::parse(literal->digits) : std::nullopt;
    const auto product = number ? *number * factor : std::nullopt;
    if (product && product->toString().find('/') == std::string::npos) return product->toString() + literal->unit;
    return fmt::format("({}) * {}", context.context.written(end.range), factor.toString());
  }

  /// Whether the bound is one value, which no interval ever equals.
  bool equality() const { return !assertion.like && assertion.bound.relation == Relation::Equal; }
};

}  // namespace

void reportSilent(diag::Emitter& emitter, const Study& study, const std::string& criterion, source::Range range,
                  const Assertion& assertion, const std::vector<unsigned>& factors,
                  const std::vector<unsigned>& levels) {
  std::vector<std::string> names;
  for (const unsigned factor : factors) names.push_back(fmt::format("'{}'", study.factors[factor].name));
  const Factor& first = study.factors[factors.front()];
  const std::string quantified = names.size() == 1 ? first.name : "*";
  auto builder = emitter.emit(range, CriterionSilent, criterion, diag::list(names));
  if (!assertion.metric || first.levels.empty())
    return void(builder.note("quantify it, as in 'forall {}:'", quantified));
  const std::string& subject = study.nameOf(assertion.comparison, assertion.metric);
  const bool ratio = study.dimensionOf(assertion.comparison, assertion.metric) == Dimension::ratio();
  // Propose a level at which the comparison has a value: not its baseline.
  const size_t last = first.levels.size() - 1;
  const size_t proposed = levels.empty() ? first.levels.size() : levels[factors.front()];
  const size_t level = proposed <= last ? proposed : first.baseline == last && last > 0 ? last - 1 : last;
  // Levels of a comparison that the claim states are selected behind the call.
  std::string selected = subject;
  const size_t over = selected.rfind(" over ");
  selected.insert(std::min(over, selected.size()),
                  fmt::format("[{}{} = {}]", assertion.selected, first.name, first.levels[level].label));
  std::string aggregated;
  if (over == std::string::npos)
    aggregated = fmt::format(", or aggregate it: '{}({}) over {}'", ratio ? "geomean" : "mean", subject, first.name);
  builder.note(assertion.subject_range, "quantify it, as in 'forall {}:', {}select a level, as in '{}'{}", quantified,
               over == std::string::npos ? "" : "or ", selected, aggregated);
}

std::optional<Rational> properShare(StudyScope& context, const ast::Expr& expr, std::string_view what) {
  auto value = context.constant(expr, Type::number(Dimension::share()), what);
  if (!value) return std::nullopt;
  if (value->asNumber()->sign() > 0 && *value->asNumber() < Rational(1)) return *value->asNumber();
  return context.emitter.emit(expr.range, OutOfRange, std::string(what), value->toString(), "above 0% and below 100%");
}

bool refuseUnreachable(StudyScope& context, const Subject& subject, const Bound& bound, source::Range range,
                       const Rational& low, const Rational& high) {
  using enum plan::Relation;
  using Function = Comparison::Function;
  const Metric& metric = context.study.metrics[subject.metric];
  const Comparison* comparison = context.study.comparison(subject.comparison);
  const Dimension& dimension = context.study.dimensionOf(subject.comparison, subject.metric);
  if (comparison && comparison->values == Function::Difference) return false;
  const bool of_metric = !comparison || !comparison->values;
  if ((of_metric && metric.derived) || dimension.isPlain()) return false;
  // A ratio of measurements is never zero either.
  const bool quotient = !of_metric && comparison->values != Function::MaxGap;
  const bool share = dimension == Dimension::share();
  const int sign = high.sign();
  const bool too_low = bound.relation != GreaterEqual && bound.relation != Greater &&
                       (sign < 0 || (sign == 0 && (quotient || bound.relation == Less)));
  const bool too_high = share && bound.relation != LessEqual && bound.relation != Less &&
                        (Rational(1) < low || (bound.relation == Greater && low == Rational(1)));
  if (!too_low && !too_high) return false;
  context.emitter
      .emit(range, UnreachableBound, fmt::format("'{}'", context.study.nameOf(subject.comparison, subject.metric)),
            bound.text)
      .note("{}", share      ? "a Share lies between 0% and 100%"
                  : quotient ? "a ratio of two measurements is above zero"
                             : "its values are never negative");
  return true;
}

std::optional<Assertion> checkAssertion(Claiming& claiming, const ast::Assertion& declaration,
                                        const std::vector<const ast::Quantifier*>& chain,
                                        const std::vector<Assertion>& others, source::Range named) {
  return AssertionChecker{claiming, declaration, chain}.run(others, named);
}

void refuseEquality(Claiming& claiming, const ast::Assertion& declaration, const Assertion& assertion,
                    source::Range confidence) {
  const Study& study = claiming.context.study;
  if (assertion.seen() || assertion.like || assertion.bound.relation != Relation::Equal ||
      study.metrics[*assertion.metric].exact)
    return;
  claiming.context.emitter
      .emit(declaration.bound ? declaration.bound->range : confidence, EqualityWithConfidence,
            study.nameOf(assertion.comparison, assertion.metric))
      .note("{}", study.dimensionOf(assertion.comparison, assertion.metric) == Dimension::ratio()
                      ? "write a band: 'within 0.98x..1.02x'"
                      : fmt::format("write a band around {}: 'within LOW..HIGH'",
                                    claiming.context.written(declaration.bound->range)));
}

}  // namespace expc::check
