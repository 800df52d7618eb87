// Criteria: the tree of a claim, its confidence, and what concerns all of its assertions. Each assertion is checked in
// assertion.cpp.

#include <algorithm>
#include <cmath>

#include "compiler/check/assertion.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(ConfidenceRange, "a confidence lies between 50% and 100%, both excluded, not at {0}");
EXPC_DIAGNOSTIC(EveryTrial, "without a confidence '{0}' must hold in every pair of trials");

/// Checks one criterion: its assertions one by one, then what concerns all of them.
struct CriterionChecker {
  StudyScope& context;
  const ast::CriterionDecl& declaration;
  diag::Emitter& emitter = context.emitter;
  Criterion criterion = {};
  Claiming claiming{context, declaration.name.name};
  /// The assertions in the order of the text, each with the quantifiers in front of it.
  struct Part {
    const ast::Assertion* declared;
    std::vector<const ast::Quantifier*> chain;
  };
  std::vector<Part> parts = {};
  std::vector<const ast::Quantifier*> chain = {};

  std::optional<Criterion> run() {
    const size_t before = context.context.problems();
    criterion.name = declaration.name.name;
    criterion.doc = declaration.doc;
    criterion.range = declaration.name.range;
    criterion.text = text();
    criterion.claim = claim(declaration.claim, 0);
    if (parts.empty()) return std::nullopt;
    assertions();
    confidence();
    if (context.context.problems() != before) return std::nullopt;
    everyTrial();
    return std::move(criterion);
  }

  /// The source text after the name.
  std::string text() const {
    source::Range rest{declaration.range.file, declaration.name.range.end, declaration.range.end};
    std::string result = context.written(rest);
    size_t start = result.find_first_not_of(": ");
    return start == std::string::npos ? result : result.substr(start);
  }

  /// Builds the tree and lists its assertions. A tree that a plan could not hold is reported, and loses its parts.
  Claim claim(const ast::Claim& declared, size_t depth) {
    Claim out;
    using Kind = ast::Claim::Kind;
    out.kind = declared.kind == Kind::Assertion ? Claim::Kind::Assertion
               : declared.kind == Kind::And     ? Claim::Kind::All
                                                : Claim::Kind::Any;
    out.quantifiers = unsigned(declared.quantifiers.size());
    out.first = unsigned(parts.size());
    depth += declared.quantifiers.size() + !declared.parts.empty();
    if (depth > plan::kMostDepth) {
      const size_t over = std::min(declared.quantifiers.size(), depth - plan::kMostDepth);
      emitter.emit(over ? declared.quantifiers[declared.quantifiers.size() - over].range : declared.range,
                   CriterionShape, criterion.name, fmt::format("has more than {} quantifiers", plan::kMostDepth));
      return out;
    }
    for (const ast::Quantifier& quantifier : declared.quantifiers) chain.push_back(&quantifier);
    if (declared.kind == Kind::Assertion) parts.push_back({&declared.assertion, chain});
    for (const ast::Claim& part : declared.parts) out.parts.push_back(claim(part, depth));
    chain.resize(chain.size() - declared.quantifiers.size());
    out.end = unsigned(parts.size());
    return out;
  }

  /// Checks the assertions; those with a subject first, since `infeasible` takes levels from them.
  void assertions() {
    claiming.several = parts.size() > 1;
    std::vector<std::optional<Assertion>> checked(parts.size());
    std::vector<Assertion> others;
    for (const bool infeasible : {false, true})
      for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].declared->infeasible != infeasible) continue;
        checked[i] = checkAssertion(claiming, *parts[i].declared, parts[i].chain, others, criterion.range);
        if (checked[i] && !infeasible) others.push_back(*checked[i]);
      }
    for (const auto& [_, shared] : claiming.quantifiers)
      for (const auto& [factor, at] : shared.selected)
        if (!shared.bound.contains(factor))
          emitter
              .emit(std::ranges::find(shared.factors, std::optional(factor), [](const auto& one) { return one.first; })
                        ->second,
                    QuantifiedTwice, context.study.factors[factor].name)
              .note(at, "it is bound here");
    for (auto& one : checked)
      if (one) criterion.assertions.push_back(std::move(*one));
  }

  const Metric& metricOf(const Assertion& assertion) const { return context.study.metrics[*assertion.metric]; }
  /// Whether the subject varies from trial to trial and the claim is no equality.
  bool noisy(const Assertion& assertion) const {
    return !assertion.seen() && !metricOf(assertion).exact &&
           (assertion.like || assertion.bound.relation != Relation::Equal);
  }
  bool noisy() const {
    return std::ranges::any_of(criterion.assertions, [&](const Assertion& one) { return noisy(one); });
  }

  /// Warns that a claim about a noisy comparison does not ask for an interval: `always` says so on purpose.
  void everyTrial() {
    if (criterion.confidence || declaration.always.isValid()) return;
    const auto compares = [&](const Assertion& one) { return noisy(one) && one.comparison && !one.like; };
    if (std::ranges::none_of(criterion.assertions, compares)) return;
    const source::Range end{declaration.range.file, declaration.range.end, declaration.range.end};
    emitter.emit(declaration.name.range, EveryTrial, criterion.name)
        .note("a claim about the effect ends with a confidence, as in 'with confidence 95%'")
        .fix(end, " always");
  }

  /// Sets the confidence: the criterion's own, else that of the study if a subject is noisy and `always` is not
  /// written.
  void confidence() {
    if (!declaration.confidence) {
      if (!context.confidence || !noisy() || declaration.always.isValid()) return;
      criterion.confidence = context.confidence;
      // Reports show the text, so it names the inherited confidence too.
      criterion.text += fmt::format(" with confidence {:g}%", *context.confidence * 100);
    } else {
      const ast::Expr& expr = *declaration.confidence;
      if (!criterion.assertions.empty() && std::ranges::all_of(criterion.assertions, &Assertion::seen))
        emitter
            .emit(expr.range, CriterionShape, criterion.name,
                  fmt::format("needs no confidence: {} is seen, not estimated",
                              criterion.assertions[0].absent ? "a missing value" : "running out of memory"))
            .note("leave out 'with confidence'");
      else
        criterion.confidence = checkConfidence(context, expr);
    }
    if (criterion.confidence && criterion.assertions.size() == parts.size())
      for (size_t i = 0; i < parts.size(); ++i)
        refuseEquality(claiming, *parts[i].declared, criterion.assertions[i],
                       declaration.confidence ? declaration.confidence->range : declaration.range);
  }
};

}  // namespace

std::optional<double> checkConfidence(StudyScope& context, const ast::Expr& expr) {
  auto value = context.constant(expr, Type::number(Dimension::share()), "a confidence");
  if (!value) return std::nullopt;
  const Rational& share = *value->asNumber();
  if (*Rational::make(1, 2) < share && share < Rational(1)) return share.toDouble();
  return context.emitter.emit(expr.range, ConfidenceRange, value->toString());
}

unsigned Quantifier::leastOf(size_t among) const {
  const double wanted = least.toDouble() * (share ? double(among) : 1.0);
  return unsigned(std::clamp(std::ceil(wanted - 1e-9), 1.0, std::max(1.0, double(among))));
}

bool Study::lacks(const Criterion& criterion, unsigned factor) const {
  return std::ranges::all_of(criterion.assertions, [&](const Assertion& one) {
    return !one.infeasible && one.comparison && comparisons[*one.comparison].lacks(factor);
  });
}

bool Criterion::composed() const {
  return assertions.size() > 1 || std::ranges::any_of(assertions.front().quantifiers, [](const Quantifier& one) {
           return one.kind == ast::QuantifierKind::AtLeast;
         });
}

std::optional<Criterion> checkCriterion(StudyScope& context, const ast::CriterionDecl& declaration) {
  return CriterionChecker{context, declaration}.run();
}

}  // namespace expc::check
