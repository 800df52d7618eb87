// Warnings of claims whose bounds settle them: two criteria that cannot both pass, and parts of one claim that hold for
// every value or for none. Checked criteria come in; only their bounds are compared, no point is looked at.

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/check/checker.h"
#include "runtime/plan/evaluate.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(Contradicting, Warning, "the criteria '{0}' and '{1}' cannot both pass");
EXPC_DIAGNOSTIC(Settled, Warning, "'{0} {1} {2}' {3} holds");

/// The values that a bound admits; without infinities where it has one side only.
std::pair<double, double> admitted(const Bound& bound) {
  using enum plan::Relation;
  constexpr double kEndless = std::numeric_limits<double>::infinity();
  switch (bound.relation) {
    case Less:
    case LessEqual:
      return {-kEndless, bound.low};
    case Greater:
    case GreaterEqual:
      return {bound.low, kEndless};
    case Equal:
      return {bound.low, bound.low};
    case Within:
      return {bound.low, bound.high};
  }
  return {-kEndless, kEndless};
}

/// Whether `wide` is about every combination that `narrow` is about, whatever that asks of them.
bool covers(const Assertion& wide, const Assertion& narrow) {
  const auto everywhere = [](const Quantifier& quantifier) {
    return quantifier.kind == ast::QuantifierKind::ForAll && !quantifier.where;
  };
  const auto shared = [&](const Pin& pin) {
    return std::ranges::any_of(
        narrow.pins, [&](const Pin& other) { return other.factor == pin.factor && other.level == pin.level; });
  };
  return wide.comparison == narrow.comparison && wide.metric == narrow.metric &&
         std::ranges::all_of(wide.quantifiers, everywhere) && std::ranges::all_of(wide.pins, shared);
}

/// Whether a bound can be held against another one.
bool isBounded(const Assertion& assertion) { return !assertion.infeasible && !assertion.like; }

/// Whether no value meets both bounds.
bool excludes(const Bound& one, const Bound& other) {
  const auto [low, high] = admitted(other);
  return plan::violates(one, low, high);
}

/// Whether every value meets one of two bounds: one admits all from an end on, the other all up to it or beyond.
bool coverAll(const Bound& one, const Bound& other) {
  const auto [low, high] = admitted(one);
  const auto [other_low, other_high] = admitted(other);
  const bool open = (one.relation == Relation::Greater || one.relation == Relation::Less) &&
                    (other.relation == Relation::Greater || other.relation == Relation::Less);
  return std::isinf(high) && std::isinf(other_low) && (open ? low < other_high : low <= other_high);
}

/// The assertions without which a claim cannot hold: those that no `or` and no `at least` relaxes.
void needed(const Criterion& criterion, const Claim& claim, std::vector<const Assertion*>& found) {
  if (claim.kind == Claim::Kind::Any) return;
  if (claim.kind == Claim::Kind::Assertion) {
    const Assertion& assertion = criterion.assertions[claim.first];
    if (std::ranges::none_of(assertion.quantifiers, [](const Quantifier& quantifier) {
          return quantifier.kind == ast::QuantifierKind::AtLeast;
        }))
      found.push_back(&assertion);
  }
  for (const Claim& part : claim.parts) needed(criterion, part, found);
}

/// Warns of two parts of a claim that hold for every value, or for none.
void settled(const Criterion& criterion, const Claim& claim, diag::Emitter& emitter) {
  for (const Claim& part : claim.parts) settled(criterion, part, emitter);
  const bool any = claim.kind == Claim::Kind::Any;
  const auto plain = [&](const Claim& part) -> const Assertion* {
    if (part.kind != Claim::Kind::Assertion || part.quantifiers > 0) return nullptr;
    const Assertion& assertion = criterion.assertions[part.first];
    return isBounded(assertion) ? &assertion : nullptr;
  };
  const auto alike = [](const Assertion& one, const Assertion& other) {
    const auto shared = [](const Pin& a, const Pin& b) { return a.factor == b.factor && a.level == b.level; };
    return one.comparison == other.comparison && one.metric == other.metric &&
           std::ranges::is_permutation(one.pins, other.pins, shared);
  };
  for (size_t i = 0; i < claim.parts.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Assertion *one = plain(claim.parts[j]), *other = plain(claim.parts[i]);
      if (!one || !other || !alike(*one, *other)) continue;
      const bool fixed = any ? coverAll(one->bound, other->bound) || coverAll(other->bound, one->bound)
                             : excludes(one->bound, other->bound);
      if (fixed)
        emitter.emit(source::join(one->range, other->range), Settled, one->text, any ? "or" : "and", other->text,
                     any ? "always" : "never");
    }
}

}  // namespace

void lintClaims(const Study& study, diag::Emitter& emitter) {
  const std::vector<Criterion>& criteria = study.criteria;
  const auto against = [](const Criterion& one, const Criterion& other) {
    std::vector<const Assertion*> of_one, of_other;
    needed(one, one.claim, of_one);
    needed(other, other.claim, of_other);
    return std::ranges::any_of(of_one, [&](const Assertion* a) {
      return std::ranges::any_of(of_other, [&](const Assertion* b) {
        return isBounded(*a) && isBounded(*b) && (covers(*a, *b) || covers(*b, *a)) && excludes(a->bound, b->bound);
      });
    });
  };
  for (size_t i = 0; i < criteria.size(); ++i) {
    settled(criteria[i], criteria[i].claim, emitter);
    for (size_t j = 0; j < i; ++j)
      if (against(criteria[j], criteria[i]))
        emitter.build(criteria[i].range, Contradicting, criteria[j].name, criteria[i].name)
            .note(criteria[j].range, "its values are others than those of '{}'; if either is enough, join them by 'or'",
                  criteria[i].name)
            .emit();
  }
}

}  // namespace expc::check
