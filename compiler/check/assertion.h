#pragma once

// One assertion of a criterion's claim, checked: what criterion.cpp asks of assertion.cpp. Not included elsewhere.

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/check/checker.h"

namespace expc::check {

EXPC_DIAGNOSTIC(QuantifiedTwice, Error, "the factor '{0}' is bound twice");
EXPC_DIAGNOSTIC(CriterionShape, Error, "the criterion '{0}' {1}");

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

/// Reports a bound of a criterion with a confidence that no interval ever equals, since intervals have a width.
void refuseEquality(Claiming& claiming, const ast::Assertion& declaration, const Assertion& assertion,
                    source::Range confidence);

}  // namespace expc::check
