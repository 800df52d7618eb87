// The digest of a study: stored sessions and locks know a study by it, so it must not change for a study that
// means the same, and must change for any other. It hashes the fields of the plan that have a meaning, a
// fingerprint of the points' ids instead of the points, and the parts of declarations that the plan only shows
// as text. White space, labels, documentation, order of declarations and the machine do not enter.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/lower/lower.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"

namespace expc::lower {
namespace {

using json::Array;
using json::Object;
using json::Value;

/// The items sorted by their canonical text: declarations have no order.
Array sorted(Array items) {
  std::vector<std::pair<std::string, Value>> keyed;
  for (Value& item : items) keyed.emplace_back(canonicalJson(item), std::move(item));
  std::ranges::sort(keyed, [](const auto& a, const auto& b) { return a.first < b.first; });
  Array result;
  for (auto& [key, item] : keyed) result.push_back(std::move(item));
  return result;
}

/// The sections of a plan that have a meaning, each with the fields to leave out: those that only say how it is
/// written or shown, and those that grow with the points.
const std::vector<std::pair<const char*, std::vector<const char*>>> kSections = {
    {"study", {}},
    {"workloads", {}},
    {"metrics", {}},
    {"comparisons", {"factors", "cells", "without_partner", "without_partner_why"}},
    {"criteria", {"doc", "where", "expected", "factors", "cells", "claim", "domain", "not_asked"}},
    {"references", {"source", "values"}},
    {"design", {}},
    {"tables", {}},
    {"plots", {}}};

/// Removes texts at any depth, and sorts lists whose order has no meaning.
void keepMeaning(Value& value) {
  if (Array* array = value.getAsArray())
    for (Value& item : *array) keepMeaning(item);
  Object* object = value.getAsObject();
  if (!object) return;
  object->erase("text");
  // Lists whose order means nothing; `sum`, `max` and the like are operands of terms.
  static constexpr std::array<std::string_view, 9> kUnordered = {
      "inputs", "copied", "expectations", "metrics", "until", "sum", "product", "max", "min"};
  for (auto& [name, member] : *object) {
    keepMeaning(member);
    Array* array = member.getAsArray();
    if (array && is_contained(kUnordered, std::string_view(StringRef(name)))) *array = sorted(std::move(*array));
  }
}

/// Builds the object whose hash is the digest.
struct Meaning {
  const plan::Plan& head;
  const points::Prepared& prepared;
  const check::Study& study = prepared.study();
  const expand::Space& space = *prepared.space;
  points::PointWriter writer{space};

  /// The sections, sorted nowhere yet: digestOf does that, since a lock wants the declared order.
  Object run() {
    Object result{{"points", idsJson(prepared.survey->ids)}};
    // Start from the plan's own JSON, so that a new field of a plan enters the digest unless it is left out on
    // purpose.
    Value written = plan::toJson(withoutFactors(head));
    for (const auto& [section, shown] : kSections) {
      Value& fields = result[section] = std::move(*written.getAsObject()->get(section));
      keepMeaning(fields);
      if (Array* declarations = fields.getAsArray())
        for (Value& declaration : *declarations)
          for (const char* field : shown) declaration.getAsObject()->erase(field);
    }
    Array factors;
    for (const plan::Factor& one : head.factors) factors.push_back(factor(one));
    result["factors"] = std::move(factors);
    // The plan has these only as text or as cells; add their structure.
    const std::vector<check::Comparison> declared(study.comparisons.begin() + study.implied, study.comparisons.end());
    add(result, "comparisons", declared, [&](const check::Comparison& one) { return comparison(one); });
    add(result, "references", study.references, [&](const check::Published& one) { return reference(one); });
    add(result, "criteria", prepared.selected.criteria, [&](const check::Criterion* one) { return criterion(*one); });
    Array controls, rules;
    for (const check::Control& control : study.controls)
      controls.push_back(Object{{"name", control.name}, {"pins", pins(control.pins)}});
    // Other rules are represented by the points that they leave.
    for (const check::Rule& rule : study.rules)
      if (rule.usesSystem()) rules.push_back(Array{rule.kind == ast::RuleKind::Require, withoutBlanks(rule.text)});
    result["controls"] = std::move(controls);
    result["rules"] = std::move(rules);
    return result;
  }

  /// Adds members to each declaration of a section; both lists are in the same order.
  template <typename Declared, typename Members>
  static void add(Object& result, StringRef section, const std::vector<Declared>& all, const Members& members) {
    Array& fields = *result.getArray(section);
    for (size_t i = 0; i < all.size(); ++i)
      for (auto& [name, value] : members(all[i])) (*fields[i].getAsObject())[name] = std::move(value);
  }

  /// Takes the factors out before the plan becomes JSON: with many levels their objects would take more memory
  /// than everything else. `factor` writes them more compactly.
  static plan::Plan withoutFactors(plan::Plan head) {
    head.factors.clear();
    return head;
  }
  static Object factor(const plan::Factor& factor) {
    Array levels;
    for (const plan::Level& level : factor.levels) levels.push_back(level.value);
    return Object{{"name", factor.name}, {"levels", std::move(levels)}, {"baseline", factor.baseline}};
  }

  /// JSON numbers are signed, so the sums are cast; the bits are the same.
  static Object idsJson(const points::IdSums& ids) {
    return Object{{"count", ids.count}, {"sum", int64_t(ids.sum)}, {"mix", int64_t(ids.mix)}};
  }

  /// A condition's meaning: the set of points at which it holds. So two ways to write one condition are equal.
  Value pointsWhere(const check::FormulaPtr& where) {
    if (!where) return nullptr;
    const expand::Condition condition(space, where, expand::View::Study);
    points::IdSums ids;
    space.forEach([&](expand::Levels point) {
      if (condition.holds(point)) ids.add(writer.hash(point));
      return true;
    });
    return idsJson(ids);
  }

  /// A level by its exact values, not its label.
  Value level(unsigned factor, unsigned index) const {
    Array values;
    for (const check::Value& value : study.factors[factor].levels[index].values)
      values.push_back(points::toJson(value, true));
    return values;
  }

  /// Pinned levels; their order has no meaning.
  Array pins(const std::vector<check::Pin>& pins) const {
    Array array;
    for (const check::Pin& pin : pins)
      array.push_back(Array{study.factors[pin.factor].name, level(pin.factor, pin.level)});
    return sorted(std::move(array));
  }

  /// The parts of a comparison that the plan states only in its terms. The number of `function` is part of
  /// stored digests.
  Object comparison(const check::Comparison& comparison) {
    Object object{{"function", int(comparison.function)}, {"of", study.nameOf(comparison.inner, comparison.metric)}};
    if (comparison.where) object["where"] = pointsWhere(comparison.where);
    if (comparison.weight) object["weight"] = weights(comparison);
    if (comparison.weight_metric) object["weight"] = study.metrics[*comparison.weight_metric].name;
    if (comparison.aggregates()) {
      Array factors;
      for (const unsigned factor : comparison.aggregated) factors.push_back(study.factors[factor].name);
      object["aggregated"] = sorted(std::move(factors));
    } else {
      object["weak"] = comparison.shared ? Value("as the workload says") : Value(comparison.weak);
      object["against"] = comparison.previous ? Value("previous") : level(comparison.over, comparison.against);
    }
    return object;
  }

  /// The weights of all points.
  Object weights(const check::Comparison& aggregate) {
    points::IdSums sums;
    space.forEach([&](expand::Levels point) {
      const double weight = points::Compared{space, aggregate, point}.weight().value_or(0);
      sums.add(writer.hash(point) ^ std::bit_cast<uint64_t>(weight));
      return true;
    });
    return idsJson(sums);
  }

  /// The tree and the assertions of a criterion, which the plan states only as a tree of cells. One assertion stands
  /// for itself.
  Object criterion(const check::Criterion& criterion) {
    if (criterion.assertions.size() == 1) return assertion(criterion.assertions[0]);
    Array assertions;
    for (const check::Assertion& one : criterion.assertions) assertions.push_back(assertion(one));
    return Object{{"assertions", std::move(assertions)}, {"claim", tree(criterion.claim)}};
  }

  static Array tree(const check::Claim& claim) {
    if (claim.kind == check::Claim::Kind::Assertion) return Array{claim.quantifiers, claim.first};
    Array parts{claim.quantifiers, claim.kind == check::Claim::Kind::All ? "and" : "or"};
    for (const check::Claim& part : claim.parts) parts.push_back(tree(part));
    return parts;
  }

  /// The quantifiers and the subject of an assertion.
  Object assertion(const check::Assertion& assertion) {
    Array quantifiers;
    for (const check::Quantifier& quantifier : assertion.quantifiers) {
      Array factors;
      for (unsigned factor : quantifier.factors) factors.push_back(study.factors[factor].name);
      Array one{quantifier.kind == ast::QuantifierKind::ForAll, sorted(std::move(factors)),
                pointsWhere(quantifier.where)};
      if (quantifier.kind == ast::QuantifierKind::AtLeast)
        one.push_back(Array{quantifier.least.toString(), quantifier.share});
      quantifiers.push_back(std::move(one));
    }
    Object object{
        {"quantifiers", std::move(quantifiers)}, {"pins", pins(assertion.pins)}, {"feasible", assertion.feasible}};
    if (assertion.infeasible) return object;
    object["subject"] = study.nameOf(assertion.comparison, assertion.metric);
    if (assertion.absent) object["absent"] = true;
    if (assertion.like) object["like"] = Array{study.references[*assertion.like].name, assertion.agreement.toString()};
    return object;
  }

  /// All published rows, since the plan has only those that match points.
  Object reference(const check::Published& published) const {
    Array rows;
    for (const check::Published::Row& row : published.rows) {
      Object object;
      for (const auto& [parameter, value] : row.parameters)
        object[study.parameter(parameter).name] = points::toJson(value, true);
      for (const auto& [metric, value] : row.metrics) object[study.metrics[metric].name] = value.toString();
      rows.push_back(std::move(object));
    }
    return Object{{"rows", std::move(rows)}};
  }
};

}  // namespace

std::string withoutBlanks(std::string text) {
  std::erase_if(text, [](unsigned char letter) { return std::isspace(letter); });
  return text;
}

Object meaningOf(const plan::Plan& head, const points::Prepared& prepared) { return Meaning{head, prepared}.run(); }

std::string digestOf(Object meaning) {
  for (auto& [section, items] : meaning)
    if (Array* array = items.getAsArray()) items = sorted(std::move(*array));
  return base::shortHash(canonicalJson(std::move(meaning)));
}

}  // namespace expc::lower
