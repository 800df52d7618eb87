#pragma once

// One assertion of a criterion's claim, checked: what criterion.cpp asks of assertion.cpp, and expected.cpp of its
// bounds.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/check/checker.h"

namespace expc::check {

EXPC_DIAGNOSTIC(QuantifiedTwice, "the factor '{0}' is bound twice");
EXPC_DIAGNOSTIC(CriterionShape, "the criterion '{0}' {1}");

/// A quantifier as all assertions behind it share it: names and conditions are checked, and their mistakes reported,
/// once.
struct Shared {
  std::vector<std::pair<std::optional<unsigned>, source::Range>> factors = {};
  Quantifier quantifier = {};
  bool checked = false;
  /// Factors that some assertion has bound by it, and places where one selects a level instead.
  std::set<unsigned> bound = {};
  std::map<unsigned, source::Range> selected = {};
};

/// State of one criterion that its assertions share.
struct Claiming {
  StudyScope& context;
  std::string name;
  bool several = false;
  std::map<const ast::Quantifier*, Shared> quantifiers = {};
};

/// Checks one assertion behind the quantifiers of `chain`. `others` are the assertions with a subject that were checked
/// before; `named` is the place of the criterion's name. Nothing after a report about the subject.
std::optional<Assertion> checkAssertion(Claiming& claiming, const ast::Assertion& declaration,
                                        const std::vector<const ast::Quantifier*>& chain,
                                        const std::vector<Assertion>& others, source::Range named);

/// A share between 0% and 100%, both excluded; nothing after a report.
std::optional<Rational> properShare(StudyScope& context, const ast::Expr& expr, std::string_view what);

/// Refuses a bound outside the values of the subject's dimension, and returns true: shares lie in 0..100 %, quantities
/// and ratios above 0. Differences and derived metrics may be anything. `low` and `high` are the ends of the bound.
bool refuseUnreachable(StudyScope& context, const Subject& subject, const Bound& bound, source::Range range,
                       const Rational& low, const Rational& high);

/// Reports a bound of a criterion with a confidence that no interval ever equals, since intervals have a width.
void refuseEquality(Claiming& claiming, const ast::Assertion& declaration, const Assertion& assertion,
                    source::Range confidence);

}  // namespace expc::check
