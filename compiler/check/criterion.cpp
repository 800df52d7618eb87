#include <algorithm>

#include "compiler/check/checker.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(UnknownLevel, Error, "{0} is no level of the factor '{1}'", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(CriterionSilent, Error, "the criterion '{0}' does not say what it means for {1}", std::string_view,
                std::string);
EXPC_DIAGNOSTIC(QuantifiedTwice, Error, "the factor '{0}' is bound twice", std::string_view);
EXPC_DIAGNOSTIC(SelectsBaseline, Error, "'{0}' compares with {1}, so it has no value there", std::string_view,
                std::string_view);
EXPC_DIAGNOSTIC(EmptyBand, Error, "the band {0}..{1} holds nothing", std::string, std::string);
EXPC_DIAGNOSTIC(ConfidenceRange, Error, "a confidence lies between 50% and 100%, both excluded, not at {0}",
                std::string);
EXPC_DIAGNOSTIC(EqualityWithConfidence, Error, "'{0}' varies from trial to trial, so no interval ever equals one value",
                std::string_view);
EXPC_DIAGNOSTIC(UnreachableBound, Error, "{0} can never be {1}", std::string, std::string_view);
EXPC_DIAGNOSTIC(CriterionShape, Error, "{0}", std::string);

constexpr size_t kMaxQuantifiers = 64;

class CriterionChecker {
 public:
  CriterionChecker(StudyContext& context, const ast::CriterionDecl& declaration)
      : context_(context), study_(context.study), declaration_(declaration) {}

  std::optional<Criterion> run() {
    size_t before = context_.emitter().errors();
    criterion_.name = declaration_.name.name;
    criterion_.doc = declaration_.doc;
    criterion_.range = declaration_.name.range;
    criterion_.text = text();
    bound_.assign(study_.factors.size(), {});
    if (!subject()) return std::nullopt;
    quantifiers();
    silent();
    bound();
    confidence();
    if (context_.emitter().errors() != before) return std::nullopt;
    return std::move(criterion_);
  }

 private:
  std::string text() const {
    source::Range rest{declaration_.range.file, declaration_.name.range.end, declaration_.range.end};
    std::string result = squeeze(context_.context.sources.text(rest));
    size_t start = result.find_first_not_of(": ");
    return start == std::string::npos ? result : result.substr(start);
  }

  const Comparison* comparison() const {
    return criterion_.comparison ? &study_.comparisons[*criterion_.comparison] : nullptr;
  }
  const Metric& metric() const { return study_.workload->metrics[criterion_.metric]; }
  const std::string& subjectName() const { return comparison() ? comparison()->name : metric().name; }

  bool subject() {
    const ast::Expr* expr = declaration_.subject.get();
    auto* index = std::get_if<ast::IndexExpr>(&expr->node);
    if (index) expr = index->base.get();
    auto* name = std::get_if<ast::NameExpr>(&expr->node);
    if (!name || name->name.parts.size() != 1) {
      context_.emitter()
          .build(expr->range, CriterionShape, "a criterion judges a metric or a comparison")
          .note({}, "write its name, and '[factor = level]' to look at one level")
          .emit();
      return false;
    }
    const ast::Identifier& word = name->name.parts[0];
    if (int found = study_.findComparison(word.name); found >= 0) {
      criterion_.comparison = static_cast<unsigned>(found);
      criterion_.metric = study_.comparisons[found].metric;
    } else if (int measured = study_.workload->findMetric(word.name); measured >= 0) {
      criterion_.metric = static_cast<unsigned>(measured);
    } else {
      // A comparison that was refused is no unknown name.
      const auto& compares = context_.declaration->compares;
      bool refused = std::any_of(compares.begin(), compares.end(),
                                 [&](const ast::CompareDecl& compare) { return compare.name.name == word.name; });
      if (!refused)
        errors::unknownName(context_.emitter(), word.range, "metric or comparison", word.name, context_.subjectNames());
      return false;
    }
    if (index)
      for (const ast::CallArgument& selector : index->selectors) pin(selector);
    return true;
  }

  void pin(const ast::CallArgument& selector) {
    if (!selector.name) {
      context_.emitter().emit(selector.value->range, CriterionShape, "a selector is written 'factor = level'");
      return;
    }
    int index = context_.factor(*selector.name);
    if (index < 0 || !bind(static_cast<unsigned>(index), selector.name->range)) return;
    const Factor& factor = study_.factors[index];
    if (factor.levels.empty()) return;
    auto value = context_.expressions().constant(*selector.value, context_.place(),
                                                 study_.workload->parameters[factor.parameter].type, "the level");
    if (!value) return;
    for (size_t i = 0; i < factor.levels.size(); ++i) {
      if (!(factor.levels[i].value == *value)) continue;
      unsigned level = static_cast<unsigned>(i);
      criterion_.pins.push_back({static_cast<unsigned>(index), level});
      const Comparison* compared = comparison();
      if (compared && compared->over == static_cast<unsigned>(index) &&
          level == (compared->previous ? 0 : compared->against))
        context_.emitter()
            .build(selector.value->range, SelectsBaseline, compared->name, factor.levels[i].label)
            .note(compared->range, "the comparison is declared here")
            .emit();
      return;
    }
    context_.emitter()
        .build(selector.value->range, UnknownLevel, value->toString(), factor.name)
        .note(factor.range, "its levels are {}", errors::list(factor.declared))
        .emit();
  }

  /// Marks a factor as bound at `range`; false after reporting that it was.
  bool bind(unsigned factor, source::Range range) {
    if (bound_[factor].isValid()) {
      context_.emitter()
          .build(range, QuantifiedTwice, study_.factors[factor].name)
          .note(bound_[factor], "it is bound here")
          .emit();
      return false;
    }
    bound_[factor] = range;
    return true;
  }

  void quantifiers() {
    if (declaration_.quantifiers.size() > kMaxQuantifiers) {
      context_.emitter().emit(declaration_.quantifiers[kMaxQuantifiers].range, CriterionShape,
                              fmt::format("a criterion has at most {} quantifiers", kMaxQuantifiers));
      unknown_ = true;
      return;
    }
    // Named factors first: `*` stands for the rest.
    for (const ast::Quantifier& declared : declaration_.quantifiers) {
      Quantifier quantifier;
      quantifier.kind = declared.kind;
      for (const ast::Identifier& name : declared.factors) {
        int index = context_.factor(name);
        if (index < 0) {
          unknown_ = true;
        } else if (bind(static_cast<unsigned>(index), name.range)) {
          quantifier.factors.push_back(static_cast<unsigned>(index));
        }
      }
      criterion_.quantifiers.push_back(std::move(quantifier));
    }
    for (size_t i = 0; i < declaration_.quantifiers.size(); ++i) {
      if (!declaration_.quantifiers[i].all) continue;
      for (unsigned factor = 0; factor < bound_.size(); ++factor) {
        if (bound_[factor].isValid()) continue;
        bound_[factor] = declaration_.quantifiers[i].range;
        criterion_.quantifiers[i].factors.push_back(factor);
      }
    }
    std::vector<bool> known(bound_.size(), false);
    for (const Pin& pin : criterion_.pins) known[pin.factor] = true;
    for (size_t i = 0; i < declaration_.quantifiers.size(); ++i) {
      for (unsigned factor : criterion_.quantifiers[i].factors) known[factor] = true;
      if (declaration_.quantifiers[i].where) where(declaration_.quantifiers[i], criterion_.quantifiers[i], known);
    }
  }

  void where(const ast::Quantifier& declared, Quantifier& quantifier, const std::vector<bool>& known) {
    quantifier.where = context_.expressions().condition(*declared.where, context_.place(), "the condition of 'where'");
    if (!quantifier.where) return;
    for (unsigned parameter : parametersOf(*quantifier.where)) {
      int factor = study_.factor_of[parameter];
      if (factor < 0 || known[factor]) continue;
      context_.emitter().emit(
          declared.where->range, CriterionShape,
          fmt::format("'where' may only ask about factors bound so far, not about '{}'", study_.factors[factor].name));
    }
  }

  void silent() {
    if (unknown_) return;
    std::vector<std::string> names;
    for (size_t i = 0; i < bound_.size(); ++i)
      if (!bound_[i].isValid()) names.push_back(fmt::format("'{}'", study_.factors[i].name));
    if (names.empty()) return;
    context_.emitter()
        .build(declaration_.name.range, CriterionSilent, criterion_.name, errors::list(names))
        .note(declaration_.subject->range, "quantify each factor ('forall gpus:'), or select a level ('{}[gpus = 2]')",
              subjectName())
        .emit();
  }

  Dimension dimension() const {
    if (comparison() && comparison()->function != Comparison::Function::Difference) return Dimension::ratio();
    return metric().dimension;
  }

  /// A bound in the subject's unit.
  std::optional<Rational> limit(const ast::Expr& expr, std::string_view what) {
    auto value = context_.expressions().number(expr, context_.place(), what);
    if (!value) return std::nullopt;
    const Value::Number& number = std::get<Value::Number>(value->node);
    if (number.dimension == dimension()) return number.value;
    auto name = [](const Dimension& unit) { return unit.isPlain() ? "a plain number" : unit.typeName(); };
    auto builder = context_.emitter().build(expr.range, errors::UnitMismatch, fmt::format("'{}'", subjectName()),
                                            name(dimension()), what, name(number.dimension));
    if (dimension() == Dimension::ratio()) builder.note({}, "a Ratio is written with 'x', as in 1.2x");
    if (dimension() == Dimension::share()) builder.note({}, "a Share is written with '%', as in 95%");
    builder.emit();
    return std::nullopt;
  }

  static std::optional<Bound::Relation> relationOf(ast::BinaryOp op) {
    switch (op) {
      case ast::BinaryOp::GreaterEqual:
        return Bound::Relation::GreaterEqual;
      case ast::BinaryOp::Greater:
        return Bound::Relation::Greater;
      case ast::BinaryOp::LessEqual:
        return Bound::Relation::LessEqual;
      case ast::BinaryOp::Less:
        return Bound::Relation::Less;
      case ast::BinaryOp::Equal:
        return Bound::Relation::Equal;
      default:
        return std::nullopt;
    }
  }

  void bound() {
    Bound& bound = criterion_.bound;
    auto written = [&](const ast::Expr& expr) { return squeeze(context_.context.sources.text(expr.range)); };
    if (declaration_.band_low && declaration_.band_high) {
      auto low = limit(*declaration_.band_low, "the band's beginning");
      auto high = limit(*declaration_.band_high, "the band's end");
      if (!low || !high) return;
      source::Range range = source::join(declaration_.band_low->range, declaration_.band_high->range);
      if (*high <= *low) {
        context_.emitter().emit(range, EmptyBand, written(*declaration_.band_low), written(*declaration_.band_high));
        return;
      }
      bound = {Bound::Relation::Within, *low, *high,
               fmt::format("within {}..{}", written(*declaration_.band_low), written(*declaration_.band_high))};
      return unreachable(range);
    }
    auto relation = declaration_.relation ? relationOf(*declaration_.relation) : std::nullopt;
    if (!relation || !declaration_.bound) {
      context_.emitter()
          .build(declaration_.subject->range, CriterionShape,
                 fmt::format("the criterion '{}' has no bound that can be judged", criterion_.name))
          .note({}, "write '>= 1.2x', '<= 80GiB' or 'within 0.9x..1.1x'")
          .emit();
      return;
    }
    auto low = limit(*declaration_.bound, "the bound");
    if (!low) return;
    static constexpr std::string_view kSigns[] = {">=", ">", "<=", "<", "=="};
    bound = {*relation, *low, *low,
             fmt::format("{} {}", kSigns[static_cast<int>(*relation)], written(*declaration_.bound))};
    unreachable(declaration_.bound->range);
  }

  /// Refuses bounds outside what the subject's dimension can take: shares lie in 0..100%, quantities and ratios above
  /// 0.
  void unreachable(source::Range range) {
    using Relation = Bound::Relation;
    if (comparison() && comparison()->function == Comparison::Function::Difference) return;
    if (dimension().isPlain()) return;
    const Bound& bound = criterion_.bound;
    const Relation relation = bound.relation;
    bool upper = relation == Relation::LessEqual || relation == Relation::Less || relation == Relation::Equal;
    bool lower = relation == Relation::GreaterEqual || relation == Relation::Greater || relation == Relation::Equal;
    int sign = relation == Relation::Within ? bound.high.sign() : bound.low.sign();
    bool too_low = (upper || relation == Relation::Within) && (sign < 0 || (sign == 0 && relation == Relation::Less));
    bool share = dimension() == Dimension::share();
    bool too_high = share && ((lower || relation == Relation::Within) && Rational(1) < bound.low);
    too_high |= share && relation == Relation::Greater && bound.low == Rational(1);
    if (!too_low && !too_high) return;
    context_.emitter()
        .build(range, UnreachableBound, fmt::format("'{}'", subjectName()), bound.text)
        .note({}, "{}", share ? "a Share lies between 0% and 100%" : "its values are never negative")
        .emit();
  }

  void confidence() {
    if (!declaration_.confidence) return;
    const ast::Expr& expr = *declaration_.confidence;
    auto value =
        context_.expressions().constant(expr, context_.place(), Type::number(Dimension::share()), "a confidence");
    if (!value) return;
    const Rational& share = *value->asNumber();
    if (share <= *Rational::make(1, 2) || Rational(1) <= share) {
      context_.emitter().emit(expr.range, ConfidenceRange, value->toString());
      return;
    }
    criterion_.confidence = share.toDouble();
    if (criterion_.bound.relation == Bound::Relation::Equal && !metric().exact)
      context_.emitter()
          .build(declaration_.bound ? declaration_.bound->range : expr.range, EqualityWithConfidence, subjectName())
          .note({}, "write a band: 'within 0.98x..1.02x'")
          .emit();
  }

  StudyContext& context_;
  const Study& study_;
  const ast::CriterionDecl& declaration_;
  Criterion criterion_;
  std::vector<source::Range> bound_;  // for each factor, where it is pinned or quantified
  bool unknown_ = false;
};

}  // namespace

std::optional<Criterion> checkCriterion(StudyContext& context, const ast::CriterionDecl& declaration) {
  return CriterionChecker(context, declaration).run();
}

}  // namespace expc::check
