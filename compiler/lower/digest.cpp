#include "compiler/lower/digest.h"

#include <algorithm>
#include <array>

#include "compiler/lower/command.h"
#include "compiler/survey/values.h"
#include "runtime/plan/json.h"
#include "runtime/plan/plan.h"

namespace expc::lower {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

/// Declarations have no order: the same ones give the same text however they are written down.
Array sorted(Array items) {
  std::vector<std::pair<std::string, Value>> keyed;
  for (Value& item : items) keyed.emplace_back(plan::canonicalJson(item), std::move(item));
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  Array result;
  for (auto& [key, item] : keyed) result.push_back(std::move(item));
  return result;
}

/// By Formula::Op. A digest outlives the order of an enumeration, so it holds words.
constexpr std::array kOperators = {
    "constant", "parameter", "metric",   "epochs_to", "system", "lookup", "choose", "max",     "min",   "??",
    "not",      "negate",    "or",       "and",       "==",     "!=",     "<",      "<=",      ">",     ">=",
    "in set",   "in list",   "in range", "+",         "-",      "*",      "/",      "variant", "field", "sequence"};
static_assert(kOperators.size() == static_cast<size_t>(check::Formula::Op::Sequence) + 1);

bool commutes(check::Formula::Op op) {
  using Op = check::Formula::Op;
  switch (op) {
    case Op::Or:
    case Op::And:
    case Op::Equal:
    case Op::NotEqual:
    case Op::Add:
    case Op::Multiply:
    case Op::Max:
    case Op::Min:
    case Op::InSet:  // of its elements
      return true;
    default:
      return false;
  }
}

class Digester {
 public:
  Digester(const expand::Space& space, const Survey& survey)
      : study_(space.study()), selected_(space.selected()), survey_(survey) {}

  Object run() const {
    Object points{{"count", survey_.points},
                  {"sum", static_cast<int64_t>(survey_.ids_sum)},
                  {"mix", static_cast<int64_t>(survey_.ids_mix)}};
    Array factors, metrics;
    for (unsigned i = 0; i < study_.factors.size(); ++i) factors.push_back(factor(i));
    for (unsigned i : study_.measuredWith(selected_.criteria)) metrics.push_back(metric(study_.metrics[i]));
    return Object{{"study", plan::jsonText(study_.name)},
                  {"points", std::move(points)},
                  {"workloads", all(study_.uses, &Digester::workload)},
                  {"factors", std::move(factors)},
                  {"rules", all(study_.rules, &Digester::rule)},
                  {"metrics", std::move(metrics)},
                  {"comparisons", all(study_.comparisons, &Digester::comparison)},
                  {"criteria", all(selected_.criteria, &Digester::criterion)},
                  {"controls", all(study_.controls, &Digester::control)},
                  {"references", all(study_.references, &Digester::reference)},
                  {"design", design()},
                  {"outputs", all(study_.outputs, &Digester::output)}};
  }

 private:
  static Value number(const check::Rational& value) { return value.toString(); }

  template <typename Items, typename Item>
  Array all(const Items& items, Object (Digester::*of)(const Item&) const) const {
    Array result;
    for (const auto& item : items) {
      if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(item)>>)
        result.push_back((this->*of)(*item));
      else
        result.push_back((this->*of)(item));
    }
    return result;
  }

  Object workload(const check::Use& use) const {
    Object object{{"label", use.label}, {"name", use.workload->name}, {"version", use.workload->version}};
    if (use.workload->command) object["command"] = commandDigest(*use.workload);
    return object;
  }

  Value level(unsigned factor, unsigned index) const {
    Array values;
    for (const check::Value& value : study_.factors[factor].levels[index].values) values.push_back(toExactJson(value));
    return values;
  }

  Object factor(unsigned index) const {
    const check::Factor& declared = study_.factors[index];
    Array levels, all;
    for (unsigned kept : selected_.levels[index]) levels.push_back(level(index, kept));
    for (unsigned i = 0; i < declared.levels.size(); ++i) all.push_back(level(index, i));
    Object object{{"name", declared.name}, {"levels", std::move(levels)}, {"declared", std::move(all)}};
    if (declared.baseline) object["baseline"] = level(index, *declared.baseline);
    return object;
  }

  Object metric(const check::Metric& metric) const {
    Object object{{"name", metric.name},
                  {"dimension", metric.dimension.planName()},
                  {"kind", llvm::StringRef(check::toString(metric.kind))},
                  {"exact", metric.exact},
                  {"series", metric.series}};
    if (metric.better) object["better"] = *metric.better == check::Direction::Higher ? "higher" : "lower";
    if (metric.derived) object["derived"] = formula(*metric.derived);
    return object;
  }

  Object comparison(const check::Comparison& comparison) const {
    Object object{{"name", comparison.name},
                  {"function", static_cast<int>(comparison.function)},
                  {"over", study_.factors[comparison.over].name},
                  {"against", comparison.previous ? Value("previous") : level(comparison.over, comparison.against)}};
    if (comparison.weak) object["weak"] = true;
    if (comparison.inner)
      object["of"] = study_.comparisons[*comparison.inner].name;
    else
      object["metric"] = study_.metrics[comparison.metric].name;
    return object;
  }

  static Object bound(const check::Bound& bound) {
    return Object{
        {"relation", static_cast<int>(bound.relation)}, {"low", number(bound.low)}, {"high", number(bound.high)}};
  }

  Array pins(const std::vector<check::Pin>& pins) const {
    Array array;
    for (const check::Pin& pin : pins)
      array.push_back(Array{study_.factors[pin.factor].name, level(pin.factor, pin.level)});
    return sorted(std::move(array));
  }

  Object control(const check::Control& control) const {
    return Object{{"name", control.name}, {"pins", pins(control.pins)}};
  }

  Object rule(const check::Rule& rule) const {
    return Object{
        {"name", rule.name}, {"require", rule.kind == ast::RuleKind::Require}, {"condition", formula(*rule.condition)}};
  }

  Value formula(const check::Formula& formula) const {
    Array array{kOperators[static_cast<size_t>(formula.op)]};
    if (formula.op == check::Formula::Op::System)
      array.push_back(llvm::StringRef(check::systemProperties()[formula.parameter].name));
    if (formula.op == check::Formula::Op::Parameter)
      array.push_back(study_.workload->parameters[formula.parameter].name);
    if (formula.op == check::Formula::Op::Metric) array.push_back(study_.metrics[formula.parameter].name);
    if (formula.op == check::Formula::Op::Constant || formula.op == check::Formula::Op::Variant ||
        formula.op == check::Formula::Op::Sequence)
      array.push_back(toExactJson(formula.constant));
    if (formula.op == check::Formula::Op::Field) array.push_back(formula.parameter);
    if (formula.geometric) array.push_back("geometric");
    Array operands;
    for (const check::FormulaPtr& operand : formula.operands)
      operands.push_back(operand ? this->formula(*operand) : Value(nullptr));
    if (formula.op == check::Formula::Op::InSet) {
      array.push_back(std::move(operands.front()));
      operands.front() = nullptr;
    }
    if (commutes(formula.op)) operands = sorted(std::move(operands));
    array.push_back(std::move(operands));
    return array;
  }

  Object criterion(const check::Criterion& criterion) const {
    Array quantifiers;
    for (const check::Quantifier& quantifier : criterion.quantifiers) {
      Array factors;
      for (unsigned factor : quantifier.factors) factors.push_back(study_.factors[factor].name);
      Object object{{"all", quantifier.kind == ast::QuantifierKind::ForAll}, {"factors", sorted(std::move(factors))}};
      if (quantifier.where) object["where"] = formula(*quantifier.where);
      quantifiers.push_back(std::move(object));
    }
    Object object{{"name", criterion.name},
                  {"quantifiers", std::move(quantifiers)},
                  {"pins", pins(criterion.pins)},
                  {"infeasible", criterion.infeasible}};
    if (criterion.feasible) object["feasible"] = true;
    if (criterion.confidence) object["confidence"] = *criterion.confidence;
    if (criterion.infeasible) return object;
    object["subject"] =
        criterion.comparison ? study_.comparisons[*criterion.comparison].name : study_.metrics[*criterion.metric].name;
    if (criterion.like)
      object["like"] = Array{study_.references[*criterion.like].name, number(criterion.agreement)};
    else
      object["bound"] = bound(criterion.bound);
    return object;
  }

  Object output(const check::Output& output) const {
    Array by;
    for (unsigned factor : output.by) by.push_back(study_.factors[factor].name);
    Object object{{"subject", output.subject}, {"by", std::move(by)}};
    if (output.over) object["over"] = study_.factors[*output.over].name;
    if (!output.axis.empty()) object["over"] = output.axis;
    if (output.shows != check::Output::Shows::Values) object["shows"] = static_cast<int>(output.shows);
    return object;
  }

  Object reference(const check::Published& published) const {
    Array rows;
    for (const check::Published::Row& row : published.rows) {
      Object object;
      for (const auto& [parameter, value] : row.parameters)
        object[study_.workload->parameters[parameter].name] = toExactJson(value);
      for (const auto& [metric, value] : row.metrics) object[study_.metrics[metric].name] = number(value);
      rows.push_back(std::move(object));
    }
    return Object{{"name", published.name}, {"rows", std::move(rows)}};
  }

  Object design() const {
    auto settings = [](const std::map<std::string, check::Setting>& from) {
      Object object;
      for (const auto& [name, setting] : from) {
        object[name] = number(setting.value);
        if (setting.most) object[name + " most"] = number(*setting.most);
      }
      return object;
    };
    Object object = settings(selected_.design.settings);
    for (const auto& [kind, block] : selected_.design.kinds) {
      Object one = settings(block.settings);
      Array until;
      for (const check::Until& rule : block.until)
        until.push_back(
            Array{rule.comparison ? study_.comparisons[*rule.comparison].name : study_.metrics[*rule.metric].name,
                  number(rule.half_width), rule.relative});
      one["until"] = sorted(std::move(until));
      Array looks;
      for (const check::Look& look : block.looks) looks.push_back(int64_t(look.repetitions));
      if (!looks.empty()) one["looks"] = std::move(looks);
      object[llvm::StringRef(check::toString(kind))] = std::move(one);
    }
    return object;
  }

  const check::Study& study_;
  const select::Selected& selected_;
  const Survey& survey_;
};

}  // namespace

llvm::json::Object meaningOf(const expand::Space& space, const Survey& survey) { return Digester(space, survey).run(); }

std::string digestOf(llvm::json::Object meaning) {
  for (auto& [section, items] : meaning)
    if (Array* array = items.getAsArray()) items = sorted(std::move(*array));
  return plan::shortHash(plan::canonicalJson(std::move(meaning)));
}

}  // namespace expc::lower
