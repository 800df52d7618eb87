#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(CriterionSilent, Error, "the criterion '{0}' does not say what it means for {1}");
EXPC_DIAGNOSTIC(QuantifiedTwice, Error, "the factor '{0}' is bound twice");
EXPC_DIAGNOSTIC(SelectsBaseline, Error, "'{0}' compares with {1}, so it has no value there");
EXPC_DIAGNOSTIC(EmptyBand, Error, "the band {0}..{1} holds nothing");
EXPC_DIAGNOSTIC(ConfidenceRange, Error, "a confidence lies between 50% and 100%, both excluded, not at {0}");
EXPC_DIAGNOSTIC(EqualityWithConfidence, Error,
                "'{0}' varies from trial to trial, so no interval ever equals one value");
EXPC_DIAGNOSTIC(UnreachableBound, Error, "{0} can never be {1}");
EXPC_DIAGNOSTIC(NotPublished, Error, "the reference '{0}' publishes no '{1}'");
EXPC_DIAGNOSTIC(CriterionShape, Error, "the criterion '{0}' {1}");

constexpr size_t kMaxQuantifiers = 64;

class CriterionChecker {
 public:
  CriterionChecker(StudyScope& context, const ast::CriterionDecl& declaration)
      : context_(context), emitter_(context.emitter), study_(context.study), declaration_(declaration) {}

  std::optional<Criterion> run() {
    const size_t before = context_.context.problems();
    criterion_.name = declaration_.name.name;
    criterion_.doc = declaration_.doc;
    criterion_.range = declaration_.name.range;
    criterion_.text = text();
    bound_.assign(study_.factors.size(), {});
    criterion_.infeasible = declaration_.infeasible;
    const bool judged = criterion_.infeasible || subject();
    quantifiers();
    if (!judged) {
      for (const ast::ExprPtr* part : {&declaration_.bound, &declaration_.band_low, &declaration_.band_high})
        if (*part) context_.expressions().lookUp(**part, context_.place());
      return std::nullopt;
    }
    silent();
    if (criterion_.infeasible)
      infeasible();
    else if (declaration_.like)
      like();
    else
      bound();
    confidence();
    if (context_.context.problems() != before) return std::nullopt;
    return std::move(criterion_);
  }

 private:
  std::string text() const {
    source::Range rest{declaration_.range.file, declaration_.name.range.end, declaration_.range.end};
    std::string result = context_.expressions().written(rest);
    size_t start = result.find_first_not_of(": ");
    return start == std::string::npos ? result : result.substr(start);
  }

  const Comparison* comparison() const {
    return criterion_.comparison ? &study_.comparisons[*criterion_.comparison] : nullptr;
  }
  const Metric& metric() const { return study_.metrics[*criterion_.metric]; }
  const std::string& subjectName() const { return comparison() ? comparison()->name : metric().name; }

  bool subject() {
    const ast::Expr* expr = declaration_.subject.get();
    auto* index = std::get_if<ast::IndexExpr>(&expr->node);
    if (index) expr = index->base.get();
    const ast::Identifier* word = wordOf(*expr);
    if (!word)
      return emitter_.build(expr->range, CriterionShape, criterion_.name, "must judge a metric or a comparison")
          .note({}, "write its name, and '[factor = level]' to look at one level")
          .refuse();
    const auto subject = context_.subject(*word);
    if (subject) {
      criterion_.comparison = subject->comparison;
      criterion_.metric = subject->metric;
    }
    if (index)
      for (const ast::CallArgument& selector : index->selectors) pin(selector);
    if (!subject || comparison() || !metric().series) return subject.has_value();
    return errors::seriesValue(emitter_, word->range, word->name, metric().range);
  }

  void pin(const ast::CallArgument& selector) {
    if (!selector.name)
      return emitter_.emit(selector.value->range, CriterionShape, criterion_.name,
                           "has a selector that is not 'factor = level'");
    if (const auto factor = context_.factor(*selector.name))
      return pinAt(*factor, selector.name->range, *selector.value);
    unknown_ = true;
  }

  void pinAt(unsigned factor, source::Range range, const ast::Expr& value) {
    if (!bind(factor, range)) return;
    auto level = context_.level(value, factor, "the level");
    if (!level) return;
    criterion_.pins.push_back({factor, *level});
    for (const Comparison* at = comparison(); at; at = at->inner ? &study_.comparisons[*at->inner] : nullptr) {
      if (at->over != factor || *level != (at->previous ? 0 : at->against)) continue;
      emitter_.build(value.range, SelectsBaseline, at->name, study_.factors[factor].levels[*level].label)
          .note(at->range, "the comparison is declared here")
          .emit();
    }
  }

  /// Marks a factor as bound at `range`; false after reporting that it was.
  bool bind(unsigned factor, source::Range range) {
    if (bound_[factor].isValid())
      return emitter_.build(range, QuantifiedTwice, study_.factors[factor].name)
          .note(bound_[factor], "it is bound here")
          .refuse();
    bound_[factor] = range;
    return true;
  }

  void quantifiers() {
    if (declaration_.quantifiers.size() > kMaxQuantifiers) {
      emitter_.emit(declaration_.quantifiers[kMaxQuantifiers].range, CriterionShape, criterion_.name,
                    fmt::format("has more than {} quantifiers", kMaxQuantifiers));
      unknown_ = true;
      return;
    }
    // Named factors first: `*` stands for the rest.
    for (const ast::Quantifier& declared : declaration_.quantifiers) {
      Quantifier& quantifier = criterion_.quantifiers.emplace_back();
      quantifier.kind = declared.kind;
      for (const ast::Identifier& name : declared.factors) {
        const auto factor = context_.factor(name);
        unknown_ |= !factor;
        if (factor && bind(*factor, name.range)) quantifier.factors.push_back(*factor);
      }
    }
    for (size_t i = 0; i < declaration_.quantifiers.size(); ++i) {
      if (!declaration_.quantifiers[i].all) continue;
      for (unsigned factor = 0; factor < bound_.size(); ++factor) {
        if (bound_[factor].isValid()) continue;
        bound_[factor] = declaration_.quantifiers[i].range;
        criterion_.quantifiers[i].factors.push_back(factor);
      }
    }
    for (const ast::Quantifier& declared : declaration_.quantifiers)
      if (declared.where && !declared.all) narrow(*declared.where);
    std::vector<bool> known(bound_.size(), false);
    for (const Pin& pin : criterion_.pins) known[pin.factor] = true;
    for (size_t i = 0; i < declaration_.quantifiers.size(); ++i) {
      for (unsigned factor : criterion_.quantifiers[i].factors) known[factor] = true;
      if (declaration_.quantifiers[i].where) where(declaration_.quantifiers[i], criterion_.quantifiers[i], known);
    }
  }

  /// `where method == lora` says what the criterion means for a factor that nothing else binds: that level.
  void narrow(const ast::Expr& expr) {
    auto* binary = std::get_if<ast::BinaryExpr>(&expr.node);
    if (!binary) return;
    if (binary->op == ast::BinaryOp::And) {
      narrow(*binary->left);
      narrow(*binary->right);
    }
    const ast::Identifier* word = binary->op == ast::BinaryOp::Equal ? wordOf(*binary->left) : nullptr;
    const int factor = word ? study_.findFactor(word->name) : -1;
    if (factor < 0 || bound_[factor].isValid()) return;
    pinAt(static_cast<unsigned>(factor), word->range, *binary->right);
  }

  /// How many parts of `a and b and …` are the word `feasible`.
  static unsigned feasibleParts(const ast::Expr& expr) {
    auto* binary = std::get_if<ast::BinaryExpr>(&expr.node);
    if (binary && binary->op == ast::BinaryOp::And) return feasibleParts(*binary->left) + feasibleParts(*binary->right);
    const ast::Identifier* word = wordOf(expr);
    return word && word->name == "feasible" ? 1 : 0;
  }

  void where(const ast::Quantifier& declared, Quantifier& quantifier, const std::vector<bool>& known) {
    Place place = context_.place();
    unsigned feasible = 0;
    place.feasible = &feasible;
    quantifier.where = context_.expressions().condition(*declared.where, place, "the condition of 'where'");
    if (!quantifier.where) return;
    if (feasible > feasibleParts(*declared.where))
      emitter_
          .build(declared.where->range, CriterionShape, criterion_.name,
                 "must ask 'feasible' beside other conditions, joined by 'and'")
          .note({}, "it leaves out the points that are expected to run out of memory, whatever else is asked")
          .emit();
    if (feasible > 0 && criterion_.infeasible)
      emitter_.emit(declared.where->range, CriterionShape, criterion_.name,
                    "asks for points that are both feasible and infeasible");
    criterion_.feasible |= feasible > 0;
    for (unsigned parameter : parametersOf(*quantifier.where)) {
      int factor = study_.factor_of[parameter];
      if (factor < 0 || known[factor]) continue;
      emitter_.emit(
          declared.where->range, CriterionShape, criterion_.name,
          fmt::format("asks in 'where' about '{}', which no quantifier has bound so far", study_.factors[factor].name));
    }
  }

  void silent() {
    if (unknown_) return;
    std::vector<std::string> names;
    const Factor* first = nullptr;
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (bound_[i].isValid()) continue;
      names.push_back(fmt::format("'{}'", study_.factors[i].name));
      if (!first) first = &study_.factors[i];
    }
    if (names.empty()) return;
    auto builder = emitter_.build(declaration_.name.range, CriterionSilent, criterion_.name, diag::list(names));
    if (declaration_.subject && !first->levels.empty()) {
      // A comparison says nothing of its own baseline.
      const size_t last = first->levels.size() - 1;
      const bool before_it = first->baseline == last && last > 0;
      builder.note(declaration_.subject->range,
                   "quantify it, as in 'forall {}:', or select a level, as in '{}[{} = {}]'", first->name,
                   subjectName(), first->name, first->levels[before_it ? last - 1 : last].label);
    } else {
      builder.note({}, "quantify it, as in 'forall {}:', or write 'forall *'", first->name);
    }
    builder.emit();
  }

  Dimension dimension() const { return comparison() ? comparison()->dimension : metric().dimension; }

  /// A claim that points run out of memory has nothing to measure, and nothing to be confident about.
  void infeasible() {
    if (!declaration_.confidence) return;
    emitter_
        .build(declaration_.confidence->range, CriterionShape, criterion_.name,
               "needs no confidence: running out of memory is seen, not estimated")
        .note({}, "leave out 'with confidence'")
        .emit();
  }

  /// `gain like table2 within 5%`: agreement with what is published.
  void like() {
    const std::string wanted = joined(*declaration_.like);
    const int index = findNamed(study_.references, wanted);
    if (index < 0) {
      // One that was refused, or does not fit this study, was said.
      const auto refused = context_.declared_references.find(wanted);
      if (refused != context_.declared_references.end())
        return context_.expressions().note(declaration_.like->parts.back().range, refused->second);
      return void(
          diag::unknownName(emitter_, declaration_.like->range, "reference", wanted, namesOf(study_.references)));
    }
    criterion_.like = static_cast<unsigned>(index);
    const Published& published = study_.references[*criterion_.like];
    context_.expressions().note(declaration_.like->parts.back().range, published.range);
    const bool there = std::ranges::any_of(published.rows, [&](const Published::Row& row) {
      return std::ranges::any_of(row.metrics, [&](const auto& cell) { return publishes(cell.first); });
    });
    if (!there)
      emitter_.build(declaration_.like->range, NotPublished, published.name, metric().name)
          .note(published.range, "the reference is declared here")
          .emit();
    criterion_.agreement = *Rational::make(1, 10);
    if (!declaration_.like_within) return;
    if (auto share = properShare(*declaration_.like_within, "the agreement")) criterion_.agreement = *share;
  }

  /// A share between 0% and 100%, both excluded.
  std::optional<Rational> properShare(const ast::Expr& expr, std::string_view what) {
    auto value = context_.expressions().constant(expr, context_.place(), Type::number(Dimension::share()), what);
    if (!value) return std::nullopt;
    if (value->asNumber()->sign() > 0 && *value->asNumber() < Rational(1)) return *value->asNumber();
    return emitter_.refuse(expr.range, errors::OutOfRange, std::string(what), value->toString(),
                           "above 0% and below 100%");
  }

  /// Whether the subject is `published` itself or derived from it.
  bool publishes(unsigned published) const {
    if (published == *criterion_.metric) return true;
    return metric().derived && std::ranges::count(metricsOf(*metric().derived), published) > 0;
  }

  /// A bound in the subject's unit.
  std::optional<Rational> limit(const ast::Expr& expr, std::string_view what) {
    auto value = context_.expressions().number(expr, context_.place(), what);
    if (!value) return std::nullopt;
    const Value::Number& number = std::get<Value::Number>(value->node);
    if (number.dimension == dimension()) return number.value;
    if (dimension().isPlain() && number.dimension == Dimension::share()) return number.value;
    auto name = [](const Dimension& unit) { return unit.isPlain() ? "a plain number" : unit.typeName(); };
    auto builder = emitter_.build(expr.range, errors::UnitMismatch, fmt::format("'{}'", subjectName()),
                                  name(dimension()), what, name(number.dimension));
    if (dimension() == Dimension::ratio()) builder.note({}, "a Ratio is written with 'x', as in 1.2x");
    if (dimension() == Dimension::share()) builder.note({}, "a Share is written with '%', as in 95%");
    return builder.refuse();
  }

  void bound() {
    auto written = [&](const ast::Expr& expr) { return context_.expressions().written(expr.range); };
    if (declaration_.band_low && declaration_.band_high) {
      auto low = limit(*declaration_.band_low, "the band's beginning");
      auto high = limit(*declaration_.band_high, "the band's end");
      if (!low || !high) return;
      source::Range range = source::join(declaration_.band_low->range, declaration_.band_high->range);
      const std::string first = written(*declaration_.band_low), last = written(*declaration_.band_high);
      if (*high <= *low) return emitter_.emit(range, EmptyBand, first, last);
      std::string text = fmt::format("within {}..{}", first, last);
      if (declaration_.give) give(*low, *high, text);
      criterion_.bound = {Relation::Within, low->toDouble(), high->toDouble(), std::move(text)};
      return unreachable(range, *low, *high);
    }
    auto relation = declaration_.relation ? relationOf(opOf(*declaration_.relation)) : std::nullopt;
    if (!relation || !declaration_.bound)
      return emitter_
          .build(declaration_.subject->range, CriterionShape, criterion_.name, "has no bound that can be judged")
          .note({}, "write '>= 1.2x', '<= 80GiB' or 'within 0.9x..1.1x'")
          .emit();
    auto low = limit(*declaration_.bound, "the bound");
    if (!low) return;
    criterion_.bound = boundOf(*relation, *low, written(*declaration_.bound));
    unreachable(declaration_.bound->range, *low, *low);
  }

  /// `within 0.6x..0.7x give 10%`: each end is moved outwards by this share of itself.
  void give(Rational& low, Rational& high, std::string& text) {
    auto share = properShare(*declaration_.give, "what a band gives");
    if (!share) return;
    auto moved = [&](const Rational& end, int sign) {
      auto by = end * *share;
      return by ? (end.sign() == sign ? end + *by : end - *by) : std::nullopt;
    };
    auto lower = moved(low, -1), upper = moved(high, 1);
    if (!lower || !upper) return emitter_.emit(declaration_.give->range, errors::NumberTooLarge, text);
    low = *lower;
    high = *upper;
    text += " give " + context_.expressions().written(declaration_.give->range);
  }

  /// Refuses bounds outside what the subject's dimension can take: shares lie in 0..100%, quantities and ratios above
  /// 0.
  void unreachable(source::Range range, const Rational& low, const Rational& high) {
    using enum plan::Relation;
    using Function = Comparison::Function;
    if (comparison() && comparison()->function == Function::Difference) return;
    if (!comparison() && metric().derived) return;  // a difference may be below zero
    if (dimension().isPlain()) return;
    const Relation relation = criterion_.bound.relation;
    const bool quotient = comparison() && comparison()->function != Function::MaxGap;  // never zero either
    const bool share = dimension() == Dimension::share();
    const int sign = high.sign();
    const bool too_low =
        relation != GreaterEqual && relation != Greater && (sign < 0 || (sign == 0 && (quotient || relation == Less)));
    const bool too_high = share && relation != LessEqual && relation != Less &&
                          (Rational(1) < low || (relation == Greater && low == Rational(1)));
    if (!too_low && !too_high) return;
    emitter_.build(range, UnreachableBound, fmt::format("'{}'", subjectName()), criterion_.bound.text)
        .note({}, "{}",
              share      ? "a Share lies between 0% and 100%"
              : quotient ? "a ratio of two measurements is above zero"
                         : "its values are never negative")
        .emit();
  }

  /// Its own confidence, else that of the study: of what is measured with noise, where it does not say `always`.
  void confidence() {
    const bool equal = !criterion_.like && criterion_.bound.relation == Relation::Equal;
    if (!declaration_.confidence) {
      const bool noisy = !criterion_.infeasible && !metric().exact && !equal;
      if (!context_.confidence || !noisy || declaration_.always.isValid()) return;
      criterion_.confidence = context_.confidence;
      criterion_.text += fmt::format(" with confidence {:g}%", *context_.confidence * 100);
      return;
    }
    const ast::Expr& expr = *declaration_.confidence;
    criterion_.confidence = checkConfidence(context_, expr);
    if (criterion_.confidence && !criterion_.infeasible && equal && !metric().exact)
      emitter_.build(declaration_.bound ? declaration_.bound->range : expr.range, EqualityWithConfidence, subjectName())
          .note({}, "{}",
                dimension() == Dimension::ratio()
                    ? "write a band: 'within 0.98x..1.02x'"
                    : fmt::format("write a band around {}: 'within LOW..HIGH'",
                                  context_.expressions().written(declaration_.bound->range)))
          .emit();
  }

  StudyScope& context_;
  diag::Emitter& emitter_;
  const Study& study_;
  const ast::CriterionDecl& declaration_;
  Criterion criterion_;
  std::vector<source::Range> bound_;  // for each factor, where it is pinned or quantified
  bool unknown_ = false;
};

}  // namespace

std::optional<double> checkConfidence(StudyScope& context, const ast::Expr& expr) {
  auto value = context.expressions().constant(expr, context.place(), Type::number(Dimension::share()), "a confidence");
  if (!value) return std::nullopt;
  const Rational& share = *value->asNumber();
  if (*Rational::make(1, 2) < share && share < Rational(1)) return share.toDouble();
  return context.emitter.refuse(expr.range, ConfidenceRange, value->toString());
}

std::optional<Criterion> checkCriterion(StudyScope& context, const ast::CriterionDecl& declaration) {
  return CriterionChecker(context, declaration).run();
}

}  // namespace expc::check
