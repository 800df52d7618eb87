// The union of several workloads, so that all later phases see one. Each workload becomes a level of a
// parameter `workload`, which is the first factor. A parameter is active where some workload that has it is
// chosen; rules and estimates hold where theirs is. Only metrics that all workloads declare alike are kept,
// since others could not be compared.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

#include "compiler/check/checker.h"
#include "compiler/check/named.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(WorkloadsDiffer, "'{0}' differs between '{1}' and '{2}'");

using Op = Formula::Op;

/// Builds one union.
struct Uniter {
  StudyContext& context;
  diag::Emitter& emitter = context.emitter;
  Study& study = context.study;
  std::unique_ptr<Workload> united = std::make_unique<Workload>();
  /// The enum of the workloads' labels.
  const EnumType* labels = nullptr;
  /// For each use the index here of each of its parameters.
  std::vector<std::vector<int>> indices = {};

  const Workload* run() {
    size_t before = emitter.errors();
    united->range = study.range;
    for (const Use& use : study.uses) {
      united->name += (united->name.empty() ? "" : ", ") + use.workload->name;
      united->valid &= use.workload->valid;
    }
    choice();
    if (!order()) return nullptr;
    for (unsigned use = 0; use < study.uses.size(); ++use) adopt(use);
    metrics();
    if (emitter.errors() != before) return nullptr;
    context.context.program.workloads.push_back(std::move(united));
    return context.context.program.workloads.back().get();
  }

  /// Adds the parameter `workload`.
  void choice() {
    auto type = std::make_unique<EnumType>();
    type->name = "workload";
    type->range = study.range;
    for (const Use& use : study.uses) type->levels.push_back({use.label, {}, use.range});
    labels = type.get();
    context.context.program.enums.push_back(std::move(type));
    Parameter parameter;
    parameter.name = "workload";
    parameter.doc = "Which of the study's workloads a point runs.";
    parameter.type = Type::of(*labels);
    parameter.range = study.range;
    united->parameters.push_back(std::move(parameter));
  }

  /// Adds every parameter name once, after the parameters that its `when` reads in any workload. False if that
  /// is impossible, or if workloads disagree about a parameter.
  bool order() {
    // Each name once; the first workload that has it gives type and documentation.
    std::vector<Parameter> all;
    for (const Use& use : study.uses)
      for (const Parameter& parameter : use.workload->parameters)
        if (findNamed(all, parameter.name) < 0) all.push_back(parameter);
    bool good = true;
    inOrder(
        all.size(),
        [&](size_t at, auto needs) {
          for (const Use& use : study.uses) {
            const int index = use.workload->findParameter(all[at].name);
            if (index < 0 || !use.workload->parameters[index].when) continue;
            for (unsigned read : parametersOf(*use.workload->parameters[index].when))
              needs(size_t(findNamed(all, use.workload->parameters[read].name)));
          }
        },
        // Conditions are combined later (adopt), when all parameters have their index.
        [&](size_t at) {
          united->parameters.push_back(all[at]);
          united->parameters.back().when = united->parameters.back().strong = nullptr;
        },
        [&](size_t at) {
          if (good)
            emitter.emit(study.range, NotSupported,
                         fmt::format("a study whose workloads make '{}' depend on what depends on it", all[at].name));
          good = false;
        });
    for (const Use& use : study.uses)
      for (const Parameter& parameter : use.workload->parameters) good = good && agrees(use, parameter);
    return good;
  }

  /// Whether a workload's parameter has the type that the name has here; reports one that has not.
  bool agrees(const Use& use, const Parameter& parameter) {
    Parameter& known = united->parameters[united->findParameter(parameter.name)];
    if (known.name == "workload")
      return emitter.emit(parameter.range, NotSupported,
                          "a parameter called 'workload' in a study with several workloads");
    if (parameter.inside.has_value() != known.inside.has_value()) {
      const Parameter& inside = parameter.inside ? parameter : known;
      return emitter.emit(use.range, WorkloadsDiffer, parameter.name, study.uses[0].label, use.label)
          .note(inside.range, "here each process goes through its levels by itself")
          .note(parameter.inside ? known.range : parameter.range, "and here a process has one");
    }
    const auto first = std::ranges::find_if(
        study.uses, [&](const Use& use) { return use.workload->findParameter(parameter.name) >= 0; });
    if (!sameParameter(emitter, use.range, known, parameter, first->workload->name, use.workload->name)) return false;
    // The union accepts what any workload accepts (`int` widens to `float`); each workload checks by its own type.
    if (!parameter.type.whole) known.type.whole = false;
    return true;
  }

  /// The condition that a point runs a workload, or with NotEqual another one.
  FormulaPtr chosen(unsigned use, Op op = Op::Equal) const {
    const source::Range range = study.uses[use].range;
    const Type type = Type::of(*labels);
    return combine(op, std::make_shared<const Formula>(formulaOf(Op::Parameter, type, range)),
                   constantOf(Value::level(*labels, use), type, range));
  }

  /// Takes over the conditions and rules of one workload, restricted to points that run it.
  void adopt(unsigned index) {
    Use& use = study.uses[index];
    const Workload& real = *use.workload;
    std::vector<int> to;
    use.parameter_of.assign(united->parameters.size(), -1);
    for (unsigned i = 0; i < real.parameters.size(); ++i) {
      to.push_back(united->findParameter(real.parameters[i].name));
      use.parameter_of[to.back()] = int(i);
    }
    for (unsigned i = 0; i < real.parameters.size(); ++i) {
      FormulaPtr here = both(chosen(index), remap(real.parameters[i].when, Op::Parameter, to));
      // Active where any workload that has the parameter is chosen and wants it.
      FormulaPtr& when = united->parameters[to[i]].when;
      when = when ? combine(Op::Or, when, here) : here;
    }
    for (const Rule& rule : real.rules) {
      Rule copy = rule;
      FormulaPtr condition = remap(rule.condition, Op::Parameter, to);
      // A rule must not remove points of other workloads: `require` holds there, `exclude` does not.
      copy.condition = rule.kind == ast::RuleKind::Require ? combine(Op::Or, chosen(index, Op::NotEqual), condition)
                                                           : combine(Op::And, chosen(index), condition);
      copy.parameters = parametersOf(*copy.condition);
      united->rules.push_back(std::move(copy));
    }
    if (real.command)
      for (const Computed& computed : real.command->computed)
        use.computed.push_back(
            {computed.name, remap(computed.value, Op::Parameter, to),
             combine(Op::Or, chosen(index, Op::NotEqual), remap(computed.defined, Op::Parameter, to))});
    indices.push_back(std::move(to));
  }

  /// Keeps the metrics that every workload measures alike, and the estimates of these.
  void metrics() {
    const Workload& first = *study.uses[0].workload;
    std::vector<int> kept(first.metrics.size(), -1);
    for (const auto& [i, metric] : llvm::enumerate(first.metrics)) {
      Metric copy = metric;
      bool common = std::all_of(study.uses.begin() + 1, study.uses.end(), [&](const Use& use) {
        int found = use.workload->findMetric(metric.name);
        if (found < 0 || !same(metric, use.workload->metrics[found], use)) return false;
        widen(copy, use.workload->metrics[found]);
        return true;
      });
      if (!common) continue;
      // A derived metric is kept only if the metrics that it reads are.
      copy.derived = remap(remap(metric.derived, Op::Metric, kept), Op::Parameter, indices[0]);
      if (metric.derived && !copy.derived) continue;
      kept[i] = int(united->metrics.size());
      united->metrics.push_back(std::move(copy));
    }
    for (unsigned use = 0; use < study.uses.size(); ++use)
      for (const Estimate& estimate : study.uses[use].workload->estimates) {
        int metric = united->findMetric(study.uses[use].workload->metrics[estimate.metric].name);
        if (metric < 0) continue;
        FormulaPtr when = both(chosen(use), remap(estimate.when, Op::Parameter, indices[use]));
        united->estimates.push_back(
            {unsigned(metric), remap(estimate.value, Op::Parameter, indices[use]), std::move(when), estimate.range});
      }
  }

  /// Weakens a metric to what holds for the values of both workloads.
  static void widen(Metric& metric, const Metric& other) {
    metric.exact = metric.exact && other.exact;
    if (!metric.refinement || !other.refinement || metric.refinement->text != other.refinement->text)
      metric.refinement.reset();
  }

  /// Whether two workloads declare a metric alike; reports a difference.
  bool same(const Metric& left, const Metric& right, const Use& use) {
    const std::string_view difference = differenceOf(left, right, *use.workload);
    if (difference.empty()) return true;
    return emitter.emit(use.range, WorkloadsDiffer, left.name, study.uses[0].label, use.label)
        .note(left.range, "it is declared here")
        .note(right.range, "and here, {}", difference);
  }

  /// The first difference between two declarations of a metric in words, or "".
  std::string_view differenceOf(const Metric& left, const Metric& right, const Workload& workload) const {
    if (left.dimension != right.dimension) return "with another type";
    if (left.kind != right.kind) return "of another kind of trial";
    if (left.better != right.better) return "with another direction";
    if (left.of_process != right.of_process) return left.of_process ? "as one of rows" : "as one of whole processes";
    if (left.distribution != right.distribution) return "of which only one is a distribution";
    if (left.series != right.series) return left.series ? "as one value, not a series" : "as a series";
    if (!left.derived && right.derived) return "where it is derived, not measured";
    if (left.derived && !right.derived) return "where it is measured, not derived";
    if (left.derived && !sameFormula(*left.derived, *right.derived, workload)) return "by another formula";
    return "";
  }

  /// Whether a formula of the first workload equals one of `workload`, comparing names instead of indices.
  bool sameFormula(const Formula& left, const Formula& right, const Workload& workload) const {
    const Workload& first = *study.uses[0].workload;
    if (left.op != right.op || left.operands.size() != right.operands.size() || left.constant != right.constant)
      return false;
    if (left.op == Op::Metric && first.metrics[left.parameter].name != workload.metrics[right.parameter].name)
      return false;
    if (left.op == Op::Parameter && first.parameters[left.parameter].name != workload.parameters[right.parameter].name)
      return false;
    for (size_t i = 0; i < left.operands.size(); ++i)
      if (!sameFormula(*left.operands[i], *right.operands[i], workload)) return false;
    return true;
  }
};

}  // namespace

FormulaPtr remap(const FormulaPtr& formula, Op leaf, const std::vector<int>& to) {
  if (!formula) return nullptr;
  Formula copy = *formula;
  if (copy.op == leaf && to[copy.parameter] < 0) return nullptr;
  if (copy.op == leaf) copy.parameter = unsigned(to[copy.parameter]);
  for (FormulaPtr& operand : copy.operands)
    if (operand && !(operand = remap(operand, leaf, to))) return nullptr;
  return std::make_shared<const Formula>(std::move(copy));
}

bool sameParameter(diag::Emitter& emitter, source::Range at, const Parameter& known, const Parameter& other,
                   std::string_view first, std::string_view second) {
  if (other.type.isError() || (other.type.agreesWith(known.type) && other.type.kind == known.type.kind)) return true;
  return emitter.emit(at, WorkloadsDiffer, other.name, first, second)
      .note(known.range, "it is declared here, as {}", known.type.name())
      .note(other.range, "and here, as {}", other.type.name());
}

FormulaPtr combine(Formula::Op op, const FormulaPtr& left, const FormulaPtr& right) {
  Formula formula = formulaOf(op, Type::boolean(), right->range, {left, right});
  formula.uses_system = left->uses_system || right->uses_system;
  formula.size = 1 + left->size + right->size;
  return std::make_shared<const Formula>(std::move(formula));
}

FormulaPtr both(FormulaPtr left, FormulaPtr right) {
  if (!left) return right;
  return right ? combine(Op::And, left, right) : left;
}

const Workload* unite(StudyContext& context) { return Uniter{context}.run(); }

}  // namespace expc::check
