// Warnings of claims whose bounds settle them: two criteria that cannot both pass, and parts of one claim that hold for
// every value or for none. Checked criteria come in; only their bounds are compared, no point is looked at.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "compiler/check/checker.h"
#include "runtime/plan/evaluate.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(Contradicting, "the criteria '{0}' and '{1}' cannot both pass");
EXPC_DIAGNOSTIC(Settled, "'{0} {1} {2}' {3} holds");

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
bool isBounded(const Assertion& assertion) { return !assertion.seen() && !assertion.like; }

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

/// Warns of parts of a claim that hold for every value, or for none: two bounds of one subject, and a value where
/// memory runs out. Of each subject the widest bounds so far stand for all, the narrowest for parts of an `and`.
void settled(const Criterion& criterion, const Claim& claim, diag::Emitter& emitter) {
  for (const Claim& part : claim.parts) settled(criterion, part, emitter);
  const bool any = claim.kind == Claim::Kind::Any;
  struct Ends {
    const Assertion *low = nullptr, *high = nullptr;  // the lower bound and the upper one
  };
  using Pins = std::set<std::pair<unsigned, unsigned>>;
  using Subject = std::tuple<std::optional<unsigned>, std::optional<unsigned>, Pins>;
  std::map<Subject, Ends> subjects;
  std::map<Pins, const Assertion*> first[2];      // with a value, and infeasible
  std::map<Subject, const Assertion*> having[2];  // with a value, and absent
  const auto warn = [&](const Assertion& one, const Assertion& other) {
    emitter.emit(source::join(one.range, other.range), Settled, one.text, any ? "or" : "and", other.text,
                 any ? "always" : "never");
  };
  for (const Claim& part : claim.parts) {
    if (part.kind != Claim::Kind::Assertion || part.quantifiers > 0) continue;
    const Assertion& one = criterion.assertions[part.first];
    Pins pins;
    for (const Pin& pin : one.pins) pins.emplace(pin.factor, pin.level);
    if (!one.infeasible) {
      const Subject subject{one.comparison, one.metric, pins};
      const bool new_one = having[one.absent].try_emplace(subject, &one).second;
      if (const auto other = having[!one.absent].find(subject); new_one && !any && other != having[!one.absent].end())
        warn(*other->second, one);
    }
    if (one.absent) continue;
    const bool fresh = first[one.infeasible].try_emplace(pins, &one).second;
    if (const auto other = first[!one.infeasible].find(pins); fresh && !any && other != first[!one.infeasible].end())
      warn(*other->second, one);
    if (!isBounded(one)) continue;
    Ends& ends = subjects[{one.comparison, one.metric, std::move(pins)}];
    const auto fixed = [&](const Assertion* other) {
      return other && (any ? coverAll(one.bound, other->bound) || coverAll(other->bound, one.bound)
                           : excludes(one.bound, other->bound));
    };
    if (fixed(ends.low))
      warn(*ends.low, one);
    else if (ends.high != ends.low && fixed(ends.high))
      warn(*ends.high, one);
    const auto [low, high] = admitted(one.bound);
    const auto reaches = [&](const Assertion* other, double own, double their) {
      return !other || (any ? own > their : own < their);
    };
    if (!std::isinf(low) && reaches(ends.low, -low, ends.low ? -admitted(ends.low->bound).first : 0)) ends.low = &one;
    if (!std::isinf(high) && reaches(ends.high, high, ends.high ? admitted(ends.high->bound).second : 0))
      ends.high = &one;
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
        emitter.emit(criteria[i].range, Contradicting, criteria[j].name, criteria[i].name)
            .note(criteria[j].range, "its values are others than those of '{}'; if either is enough, join them by 'or'",
                  criteria[i].name);
  }
}

}  // namespace expc::check
