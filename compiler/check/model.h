#pragma once

// The result of check: every name resolved, every value constant and in base units, nothing expanded yet.
// Declarations refer to each other by index (metrics, factors, comparisons of a study) and to workloads and
// enumerations by pointer; pointers stay valid as long as their Program. Ranges point into the source, for
// later diagnostics.

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/value/formula.h"
#include "compiler/check/value/value.h"
#include "compiler/parse/ast.h"
#include "runtime/base/find.h"
#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"

namespace expc::check {

/// The values that a type's `in …` allows: a range or a set.
struct Refinement {
  /// Absent for a set; `upper` is absent for `1..`.
  std::optional<Rational> lower, upper;
  /// The distance (or with `geometric` the factor) between allowed values; only with `lower`.
  std::optional<Rational> step;
  bool geometric = false;
  /// Used if not empty.
  std::vector<Value> set;
  /// The source text, "1..64".
  std::string text;
  source::Range range;

  bool allows(const Value& value) const;
};

/// A parameter of a workload.
struct Parameter {
  std::string name, doc;
  Type type;
  std::optional<Refinement> refinement;
  /// The default.
  std::optional<Value> fallback;
  /// The condition under which the workload has it, over earlier parameters; null: always.
  FormulaPtr when;
  /// The condition under which more of it (devices) share the same work; null: unknown.
  FormulaPtr strong;
  /// Each process goes through its levels by itself, and rows of its output name them here.
  std::optional<plan::CommandMetric> inside;
  source::Range range;
};

// Terms that plans share.
using plan::Bound, plan::Direction, plan::Relation, plan::TrialKind;
/// The relation of `>=` and the like; nothing for an operator that bounds nothing.
std::optional<Relation> relationOf(Formula::Op op);
/// The operation by which a plan computes it; nothing if plans have none.
std::optional<plan::OperationTerm::Op> operationOf(Formula::Op op);

/// A metric, measured by a workload or derived in a study.
struct Metric {
  std::string name, doc;
  Dimension dimension;
  std::optional<Refinement> refinement;
  /// Always present for a measured metric.
  std::optional<Direction> better;
  TrialKind kind = TrialKind::Timed;
  /// A count without noise, compared as it is.
  bool exact = false;
  /// A value for each epoch or logged step.
  bool series = false;
  /// A series without an order.
  bool distribution = false;
  /// The formula over the owner's measured metrics (Formula::Op::Metric); null: measured.
  FormulaPtr derived;
  /// A derived metric's formula as written: "launch_time / wall".
  std::string text;
  /// For a command's metric, where it is read: `from regex("…", unit = 1ms)`.
  std::optional<plan::CommandMetric> source;
  /// A process that goes through levels by itself has one value of it.
  bool of_process = false;
  source::Range range;
};

/// A rule of a workload or a study.
struct Rule {
  ast::RuleKind kind = ast::RuleKind::Require;
  /// "" if it has none.
  std::string name;
  std::string because;
  /// The condition as written.
  std::string text;
  FormulaPtr condition;
  /// The parameters that the condition reads.
  std::vector<unsigned> parameters;
  source::Range range;
  /// Whether the workload declares it; its formulas then see defaults of inactive factors (expand::View).
  bool of_workload = false;

  /// Such a rule makes points unavailable on a machine instead of removing them.
  bool usesSystem() const { return condition->uses_system; }
};

/// A part of what a workload expects of a metric before it runs. The parts of one metric whose `when` holds are
/// added.
struct Estimate {
  unsigned metric = 0;
  FormulaPtr value;
  /// Null: always.
  FormulaPtr when;
  source::Range range;
};

/// A text with `${parameter}` in it, or `options`: the form in which every parameter is passed that no other
/// argument holds.
struct CommandArgument {
  bool options = false;
  std::vector<std::string> texts;
  /// Options: the names of these parameters.
  std::vector<std::string> parameters;
};

/// A program of the user's as a plan has it, together with its arguments as written, which identify it.
/// A let of the workload that arguments hold, as in `${total}`. Points have its value among their parameters.
struct Computed {
  std::string name;
  FormulaPtr value;
  /// Has a value where `value` must have one: wherever the workload runs.
  FormulaPtr defined;
};
struct Command : plan::Command {
  std::vector<CommandArgument> written;
  /// The arguments of each service as written.
  std::vector<std::vector<CommandArgument>> written_services;
  std::vector<Computed> computed;
};

/// A workload, as a file declares it or (unite) as the union of several. A service is one too; its command has `ready`.
struct Workload {
  /// "image.mobilenet_v2"; without a prefix in the root file.
  std::string name, doc;
  int version = 1;
  std::optional<Command> command;
  std::vector<Parameter> parameters;
  std::vector<Metric> metrics;
  std::vector<Estimate> estimates;
  std::vector<Rule> rules;
  /// Its services. What they declare is among the fields above as well, as if the workload declared it.
  std::vector<const Workload*> services;
  /// The workload names a missing service, which may have declared the names that are unknown.
  bool lacks_service = false;
  source::Range range;
  /// False: errors were reported inside.
  bool valid = true;

  int findParameter(std::string_view wanted) const { return base::findNamed(parameters, wanted); }
  int findMetric(std::string_view wanted) const { return base::findNamed(metrics, wanted); }
};

/// Whether a command is told a setting of its trials: an argument passes it ("steps", as ${steps}) and no parameter
/// of the workload has that name, or the program asks for its trial (`from trial`), which has all settings.
bool isTold(const Workload& workload, std::string_view setting);

/// Whether an argument of a command tells it the levels of an inside parameter, or an end of them.
bool isToldOf(const Workload& workload, const std::string& parameter);

/// A workload in a study.
struct Use {
  /// "ours"; "" if the study has one workload.
  std::string label;
  const Workload* workload = nullptr;
  /// For each parameter of Study::workload its index in `workload`, or -1.
  std::vector<int> parameter_of;
  /// For each parameter of Study::workload the argument, else the default; nothing if it has neither.
  std::vector<std::optional<Value>> arguments;
  /// The place of each argument; invalid for a default.
  std::vector<source::Range> argument_ranges;
  /// The computed arguments of its command, over Study::workload's parameters.
  std::vector<Computed> computed;
  source::Range range;
};

/// A level of a factor.
struct Level {
  /// One for each parameter of the factor.
  std::vector<Value> values;
  /// The text as written; "(dali, nhwc)" in lockstep.
  std::string label;
  source::Range range;
};

/// A factor: parameters that the study varies together, usually one.
struct Factor {
  /// "(loader, layout)" in lockstep.
  std::string name;
  /// One, or those in lockstep.
  std::vector<unsigned> parameters;
  std::vector<Level> levels;
  /// An index into `levels`.
  std::optional<unsigned> baseline;
  /// Levels as written, for messages: {"1..4"} or {"fp64", "fp32"}.
  std::vector<std::string> declared;
  /// The condition under which the factor varies: its own `when`, and for a simple factor that of its
  /// parameter. Null: everywhere. This is the one rule of activity: where it does not hold, the factor has no
  /// level and its parameters have no value in expressions; a parameter that the workload still wants there has
  /// its default.
  FormulaPtr active;
  source::Range range;

  /// Each process goes through its levels by itself.
  bool inside = false;

  bool lockstep() const { return parameters.size() > 1; }
};

/// A comparison of a metric, or of another comparison, over a factor; or an aggregate of one over levels of factors.
struct Comparison {
  /// Digests of plans hold the numbers (lower::meaningOf): a new one gets the next number, and no number ever changes.
  /// Functions from Geomean on aggregate.
  enum class Function {
    Speedup = 0,
    Ratio = 1,
    Difference = 2,
    Efficiency = 3,
    MaxGap = 4,
    Geomean = 5,
    Mean = 6,
    Sum = 7,
    Median = 8,
    Min = 9,
    Max = 10,
    /// The value of a metric of whole processes, which has no level of inside factors. No study names it.
    OfProcess = 11
  };
  static constexpr unsigned kNoFactor = ~0u;
  std::string name, doc;
  /// "speedup(step_time) over precision against fp32"
  std::string text;
  Function function = Function::Speedup;
  /// A comparison that is compared again; declared before this one.
  std::optional<unsigned> inner;
  /// The metric; if there is an inner comparison, that of the innermost.
  unsigned metric = 0;
  /// The compared factor; kNoFactor for an aggregate.
  unsigned over = 0;
  /// The factors that an aggregate reduces, and those that its values have no level of: with those that what it
  /// aggregates has none of. A comparison of an aggregate lacks the same. Ascending.
  std::vector<unsigned> aggregated, gone;
  /// The function that makes its values: its own, or for an aggregate that of what it aggregates. Nothing: they are
  /// values of a metric.
  std::optional<Function> values;
  /// It has values only there; may be null.
  FormulaPtr where;
  /// The weight of each part of an aggregate: a number at each point, or an exact metric. Neither: all weigh the same.
  FormulaPtr weight;
  std::optional<unsigned> weight_metric;
  /// Efficiency of a time: the work of each device is held constant instead of the total.
  bool weak = false;
  /// Efficiency of a time that names no kind of scaling: the workload's condition under which the total is constant,
  /// which each point decides. Null for all others.
  FormulaPtr shared;
  /// Compare with the nearest level before.
  bool previous = false;
  /// The baseline's level of `over`, unless `previous`.
  unsigned against = 0;
  /// Points without a partner are accepted (`partial`).
  bool incomplete = false;
  /// The dimension of its values.
  Dimension dimension;
  source::Range range;

  bool aggregates() const { return function >= Function::Geomean; }
  bool ofProcess() const { return function == Function::OfProcess; }
  bool lacks(unsigned factor) const { return std::ranges::binary_search(gone, factor); }
};

/// A selector of a subject or a control: `[precision = fp32]`.
struct Pin {
  unsigned factor = 0, level = 0;
};

/// A quantifier of a criterion.
struct Quantifier {
  ast::QuantifierKind kind = ast::QuantifierKind::ForAll;
  /// `*` is resolved to the factors that no other quantifier names.
  std::vector<unsigned> factors;
  /// May be null.
  FormulaPtr where;
  /// For AtLeast: how many of the combinations of levels, or which share of them.
  Rational least;
  bool share = false;

  /// How many of `among` combinations must hold, for AtLeast; never more than there are.
  unsigned leastOf(size_t among) const;
};

/// One bound of a claim. It judges a comparison, a metric, or that points run out of memory.
struct Assertion {
  /// The source text.
  std::string text;
  source::Range range;
  /// The quantifiers in front of it, from the outermost. Assertions that stand behind the same one differ in the
  /// factors that it binds: a factor that an assertion selects is not bound for it.
  std::vector<Quantifier> quantifiers;
  std::vector<Pin> pins;
  /// Factors for which it says nothing. Rules must leave one level of them at each combination of the others
  /// (points::Survey).
  std::vector<unsigned> open;
  /// The subject's place and its selectors as written, with a comma behind them, for messages; empty without `open`.
  source::Range subject_range;
  std::string selected;
  /// `where feasible`: it asks only about points that are expected to fit into memory.
  bool feasible = false;
  /// The claim is that the points run out of memory; the fields of a subject are empty then.
  bool infeasible = false;
  /// The claim is that trials have no value of the subject.
  bool absent = false;
  /// The judged comparison, if there is one.
  std::optional<unsigned> comparison;
  /// The judged metric, or that of the comparison.
  std::optional<unsigned> metric;
  /// Absent with `infeasible`, `absent` and `like`.
  Bound bound;
  /// An index into Study::references.
  std::optional<unsigned> like;
  /// With `like`: the tolerance as a share, by default 1/10.
  Rational agreement;

  /// Whether trials show the truth at once, and no interval estimates it.
  bool seen() const { return infeasible || absent; }
};

/// A node of a criterion's claim: an assertion, or parts of which all or any must hold.
struct Claim {
  enum class Kind { Assertion, All, Any } kind = Kind::Assertion;
  /// The number of quantifiers in front of the node, each of which stands in every assertion of it.
  unsigned quantifiers = 0;
  /// Its assertions are Criterion::assertions from `first` to before `end`.
  unsigned first = 0, end = 0;
  std::vector<Claim> parts;
};

/// A claim that a run decides.
struct Criterion {
  std::string name;
  /// The source text without the name.
  std::string text;
  std::string doc;
  /// At least one, in the order of the text.
  std::vector<Assertion> assertions;
  Claim claim;
  /// Absent: the bound must hold in every valid trial. So it is for exact metrics, equalities and `always`, and
  /// if neither the criterion nor its study states a confidence.
  std::optional<double> confidence;
  source::Range range;

  /// Whether nothing is claimed but that points run out of memory.
  bool infeasible() const { return std::ranges::all_of(assertions, &Assertion::infeasible); }
  /// Whether the claim is more than one assertion behind `forall` and `exists`.
  bool composed() const;
};

/// A second label on the point that the pins name, to see noise and drift.
struct Control {
  std::string name;
  std::vector<Pin> pins;
  source::Range range;
};

/// A number in a design, in base units.
struct Setting {
  Rational value;
  /// The upper end of `repeat 10..20`.
  std::optional<Rational> most;
  source::Range range;
};

/// A rule that ends adaptive repetitions: `until half_width(gain) <= 1%`.
struct Until {
  /// Exactly one of them, an index into the study's.
  std::optional<unsigned> comparison, metric;
  Rational half_width;
  /// Whether the half-width is a share of the estimate.
  bool relative = false;
  source::Range range;
};

/// One interim analysis of `looks at 8, 14`.
struct Look {
  unsigned repetitions = 0;
  source::Range range;
};

/// The settings of a study or a preset by name, before they are merged.
struct Design {
  struct Kind {
    /// repeat, steps, warmup, epochs, timeout (seconds).
    std::map<std::string, Setting> settings;
    std::vector<Until> until;
    std::vector<Look> looks;
    source::Range range;
  };
  std::map<TrialKind, Kind> kinds;
  /// seed, budget (seconds), share, and limits of validity.
  std::map<std::string, Setting> settings;
  source::Range range;
};

/// A factor's levels that a change keeps, ascending.
struct Only {
  unsigned factor = 0;
  std::vector<unsigned> levels;
  source::Range range;
};
/// A parameter's value that a change gives.
struct Assigned {
  unsigned parameter = 0;
  Value value;
  source::Range range;
};

/// The changes of a preset or an override (expand::Selected::apply).
struct Change {
  std::string name;
  std::vector<Assigned> assigned;
  std::vector<Only> only;
  /// Criteria by name. If `kept` has any, all others are dropped.
  std::vector<std::string> removed, kept;
  /// Removes or keeps all criteria with a confidence; removes all criteria.
  bool removes_confident = false, keeps_confident = false;
  bool removes_all = false;
  /// Criteria that the change adds.
  std::vector<Criterion> criteria;
  std::optional<Design> design;
  source::Range range;

  /// Whether a criterion that was asked before is no longer asked.
  bool drops(const Criterion& criterion) const;
};

/// Published values of a reference, as one study reads them.
struct Published {
  std::string name;
  /// The path as written.
  std::string source;
  struct Row {
    /// Indices and values of the study's parameters.
    std::vector<std::pair<unsigned, Value>> parameters;
    /// Indices and values of the study's metrics, in base units.
    std::vector<std::pair<unsigned, Rational>> metrics;
  };
  std::vector<Row> rows;
  /// Parameters of the study that some column states.
  std::vector<unsigned> named;
  source::Range range;
};

struct ModuleScope;

/// A value that the author expects: `expected gain = 1.5x  noise 8%`.
struct Expectation {
  std::string name;
  /// The expectation as written: "1.5x noise 8%".
  std::string text;
  /// The criteria that are about it, by name.
  std::vector<std::string> criteria;
  /// The measured metrics that it reads, by name.
  std::vector<std::string> metrics;
  /// In base units.
  double value = 0;
  /// The noise of one trial, as a share of its value.
  std::optional<double> noise;
  source::Range range;
};

/// A constant of the study's own: `param wanted : Ratio = 1.2x`.
struct Constant {
  std::string name;
  /// The text of `-D` that gave its value; "" for the study's.
  std::string given_by;
  Type type;
  /// Nothing if it was refused.
  std::optional<Value> value;
  source::Range range;
};

/// A checked study.
struct Study {
  std::string name, doc;
  /// The parts that it uses, and those that they use.
  std::vector<diag::Inclusion> parts;
  /// The scopes of the files of parts, in which their texts find names of a file.
  std::vector<std::pair<source::FileId, ModuleScope*>> scopes_of_parts;
  std::vector<Constant> constants;
  /// Its workload. For several it is their union: a parameter `workload` first, then the parameters of each,
  /// active where it is chosen.
  const Workload* workload = nullptr;
  /// At least one.
  std::vector<Use> uses;
  /// The workload's metrics, then derived ones of the study.
  std::vector<Metric> metrics;
  /// With several workloads the factor `workload` is first.
  std::vector<Factor> factors;
  /// For each parameter the factor that varies it, or -1.
  std::vector<int> factor_of;
  /// The workload's rules first.
  std::vector<Rule> rules;
  /// Metrics to measure, in order: those of `measure`, then those that comparisons, tables and plots use.
  std::vector<unsigned> measured;
  std::vector<Comparison> comparisons;
  /// How many of these, the first ones, stand for metrics of whole processes. Plans have none of them.
  unsigned implied = 0;
  std::vector<Criterion> criteria;
  std::vector<Control> controls;
  std::vector<Expectation> expected;
  std::vector<Published> references;
  std::optional<Design> design;
  /// In declared order.
  std::vector<plan::Table> tables;
  std::vector<plan::Plot> plots;
  std::vector<Change> presets;
  /// The range of its name.
  source::Range range;
  /// The declaration with the statements of its parts, in the order of their uses.
  const ast::StudyDecl* declaration = nullptr;
  /// False: errors were reported inside, so it must not be expanded.
  bool valid = true;

  /// The metrics to measure for a selection of criteria: `measured`, then what the criteria add. Derived
  /// metrics come after those that they read.
  std::vector<unsigned> measuredWith(const std::vector<const Criterion*>& criteria) const;

  int findFactor(std::string_view wanted) const { return base::findNamed(factors, wanted); }
  int findMetric(std::string_view wanted) const { return base::findNamed(metrics, wanted); }
  const Parameter& parameter(unsigned index) const { return workload->parameters[index]; }
  int findParameter(std::string_view wanted) const { return workload->findParameter(wanted); }
  int findComparison(std::string_view wanted) const { return base::findNamed(comparisons, wanted); }
  const Change* findPreset(std::string_view wanted) const { return base::named(presets, wanted); }
  /// Returns the comparison that another comparison, an assertion or an `until` reads, by its index. Null: it reads a
  /// metric.
  const Comparison* comparison(std::optional<unsigned> index) const { return index ? &comparisons[*index] : nullptr; }
  /// The name and the dimension of the comparison that is read, or else of the metric.
  const std::string& nameOf(std::optional<unsigned> comparison, std::optional<unsigned> metric) const {
    return comparison ? comparisons[*comparison].name : metrics[*metric].name;
  }
  const Dimension& dimensionOf(std::optional<unsigned> comparison, std::optional<unsigned> metric) const {
    return comparison ? comparisons[*comparison].dimension : metrics[*metric].dimension;
  }
  /// Whether no assertion of the criterion has values at single levels of the factor: all judge aggregates over it.
  bool lacks(const Criterion& criterion, unsigned factor) const;
  /// Whether processes of a use go through levels by themselves.
  bool goesInside(const Use& use) const {
    return std::ranges::any_of(use.workload->parameters, [](const Parameter& one) { return one.inside.has_value(); });
  }
  /// Whether the first factor and parameter choose between workloads.
  bool hasWorkloadFactor() const { return uses.size() > 1; }
};

/// A property of a machine (`gpus`, `gpu.memory`, …), in the order of the table of words.
struct SystemProperty {
  std::string_view name;
  Type type;
};
const std::vector<SystemProperty>& systemProperties();
/// The index of a property, or -1.
int findSystemProperty(std::string_view name);

/// The known facts of a machine. `values` is indexed by systemProperties(); nothing where a property is
/// unknown.
struct System {
  std::string name, doc;
  std::vector<std::optional<Value>> values;
  source::Range range;

  /// A machine without known properties.
  static System unknown(std::string name);
  /// The value of a property, which must exist; nothing if unknown.
  const std::optional<Value>& operator[](std::string_view property) const;
  void set(std::string_view property, Value value);
};

/// {"gpus":4,"gpu.memory":100931731456}: the known properties in base units.
json::Object toJson(const System& system);
/// The system of this name with these properties. Members that are no property, or have another type, or are no
/// whole number above zero, are left out: the file may be a stranger's.
System systemFromJson(std::string name, const json::Object& object);

/// Reports at `range` that a criterion says nothing of what it means for `factors`. `levels` has a level to propose for
/// each factor of the study, or is empty.
void reportSilent(diag::Emitter& emitter, const Study& study, const std::string& criterion, source::Range range,
                  const Assertion& assertion, const std::vector<unsigned>& factors,
                  const std::vector<unsigned>& levels);

}  // namespace expc::check
