#pragma once

// What `check` hands on: every name resolved, every value constant and in base units, nothing expanded yet. Pointers
// between parts stay valid as long as their Program.

#include <llvm/Support/JSON.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/check/formula/formula.h"
#include "compiler/check/value/value.h"
#include "runtime/plan/find.h"
#include "runtime/plan/plan.h"

namespace expc::check {

/// What a type's `in …` allows: a range or a set.
struct Refinement {
  std::optional<Rational> lower, upper;
  std::optional<Rational> step;  // with lower
  bool geometric = false;
  std::vector<Value> set;  // used if not empty
  std::string text;        // "1..64"
  source::Range range;

  bool allows(const Value& value) const;
};

struct Parameter {
  std::string name, doc;
  Type type;
  std::optional<Refinement> refinement;
  std::optional<Value> fallback;  // the default
  FormulaPtr when;                // over earlier parameters; null: always active
  FormulaPtr strong;              // where more of it share the same work; null: nothing is known
  source::Range range;
};

// A plan says these in the same way.
using plan::Bound, plan::Direction, plan::Relation, plan::TrialKind;
/// Of `>=` and the like; nothing where the operator bounds nothing.
std::optional<Relation> relationOf(Formula::Op op);
/// How a plan computes it; nothing where it does not.
std::optional<plan::OperationTerm::Op> operationOf(Formula::Op op);

struct Metric {
  std::string name, doc;
  Dimension dimension;
  std::optional<Refinement> refinement;
  std::optional<Direction> better;  // always there for a measured one
  TrialKind kind = TrialKind::Timed;
  bool exact = false;
  bool series = false;
  FormulaPtr derived;                         // over the owner's measured metrics (Formula::Op::Metric); null: measured
  std::string text;                           // of a derived one: "launch_time / wall"
  std::optional<plan::CommandMetric> source;  // where a command's is read: `from regex("…", unit = 1ms)`
  source::Range range;
};

struct Rule {
  ast::RuleKind kind = ast::RuleKind::Require;
  std::string name;  // "" when it has none
  std::string because;
  std::string text;  // the condition as written
  FormulaPtr condition;
  std::vector<unsigned> parameters;  // that the condition reads
  source::Range range;
  bool of_workload = false;

  bool usesSystem() const { return condition->uses_system; }
};

/// A part of what a workload expects of a metric before it runs: the parts of one metric whose `when` holds add up.
struct Estimate {
  unsigned metric = 0;
  FormulaPtr value;
  FormulaPtr when;  // null: always
  source::Range range;
};

/// A text with `${parameter}` in it, or `options`: the form that each parameter takes which no other argument holds.
struct CommandArgument {
  bool options = false;
  std::vector<std::string> texts;
  std::vector<std::string> parameters;  // of `options`, by name
};

/// A program of the user's as a plan has it, and its arguments as they are written, by which it is known.
struct Command : plan::Command {
  std::vector<CommandArgument> written;
};

struct Workload {
  std::string name, doc;  // "image.mobilenet_v2"; unqualified in the root file
  int version = 1;
  std::optional<Command> command;
  std::vector<Parameter> parameters;
  std::vector<Metric> metrics;
  std::vector<Estimate> estimates;
  std::vector<Rule> rules;
  source::Range range;
  bool valid = true;  // false: errors were reported inside

  int findParameter(std::string_view wanted) const { return plan::findNamed(parameters, wanted); }
  int findMetric(std::string_view wanted) const { return plan::findNamed(metrics, wanted); }
};

/// Whether an argument of a command tells it a setting of its trials ("steps", as ${steps}): a parameter of its own
/// with that name stands there instead.
bool isTold(const Workload& workload, std::string_view setting);

/// A workload as a study uses it.
struct Use {
  std::string label;  // "ours"; "" where the study has one workload
  const Workload* workload = nullptr;
  std::vector<int> parameter_of;                // parameter of Study::workload → of `workload`, or -1
  std::vector<std::optional<Value>> arguments;  // by parameter of Study::workload: the argument, else the default
  std::vector<source::Range> argument_ranges;   // where it was given; invalid: a default
  source::Range range;
};

struct Level {
  std::vector<Value> values;  // one for each parameter of the factor
  std::string label;          // as it is written; "(dali, nhwc)" in lockstep
  source::Range range;
};

struct Factor {
  std::string name;                  // "(loader, layout)" in lockstep
  std::vector<unsigned> parameters;  // one, or those in lockstep
  std::vector<Level> levels;
  std::optional<unsigned> baseline;
  std::vector<std::string> declared;  // labels as written: {"1..4"} or {"fp64", "fp32"}
  /// Where it varies: its own `when` and, of a simple factor, that of its parameter. Null: everywhere. The one rule of
  /// activity: where it does not hold, the factor has no level and its parameters no value in expressions; a parameter
  /// that the workload still wants there has its default.
  FormulaPtr active;
  source::Range range;

  bool lockstep() const { return parameters.size() > 1; }
};

struct Comparison {
  /// Digests of plans hold the numbers (lower::meaningOf): a new one gets the next number, and no number ever changes.
  enum class Function { Speedup = 0, Ratio = 1, Difference = 2, Efficiency = 3, MaxGap = 4 };
  std::string name, doc;
  std::string text;  // "speedup(step_time) over precision against fp64"
  Function function = Function::Speedup;
  std::optional<unsigned> inner;  // a comparison (declared before in Study::comparisons) that is compared again, or
  unsigned metric = 0;            // of the study; of the innermost comparison too
  unsigned over = 0;              // factor
  /// Efficiency of a time: each device's work is held constant, not that of all.
  bool weak = false;
  bool previous = false;
  unsigned against = 0;     // level of `over`, unless previous
  bool incomplete = false;  // points without a partner are accepted (`allow W0406`)
  Dimension dimension;      // of its values
  source::Range range;
};

/// `[precision = fp32]` in a subject.
struct Pin {
  unsigned factor = 0, level = 0;
};

struct Quantifier {
  ast::QuantifierKind kind = ast::QuantifierKind::ForAll;
  std::vector<unsigned> factors;  // `*` resolved
  FormulaPtr where;               // may be null
};

struct Criterion {
  std::string name;
  std::string text;  // source text without the name
  std::string doc;
  std::vector<Quantifier> quantifiers;
  std::vector<Pin> pins;
  bool feasible = false;               // it asks only about points that are expected to fit into memory
  bool infeasible = false;             // the claim is that the points run out of memory; then nothing of the subject
  std::optional<unsigned> comparison;  // of the study, or
  std::optional<unsigned> metric;      // of the study (of the comparison's too)
  Bound bound;                         // unless infeasible or like
  std::optional<unsigned> like;        // index into Study::references
  Rational agreement;                  // with it: 1/10
  std::optional<double> confidence;
  source::Range range;
};

/// A second label on the point that the pins name.
struct Control {
  std::string name;
  std::vector<Pin> pins;
  source::Range range;
};

struct Setting {
  Rational value;
  std::optional<Rational> most;  // `repeat 10..20`
  source::Range range;
};

/// `until half_width(gain) <= 1%`
struct Until {
  std::optional<unsigned> comparison, metric;  // one of them, of the study
  Rational half_width;
  bool relative = false;
  source::Range range;
};

/// One of `looks at 8, 14`.
struct Look {
  unsigned repetitions = 0;
  source::Range range;
};

/// Settings by name; of a preset or a study, before merging.
struct Design {
  struct Kind {
    std::map<std::string, Setting> settings;  // repeat, steps, warmup, epochs, timeout (seconds)
    std::vector<Until> until;
    std::vector<Look> looks;
    source::Range range;
  };
  std::map<TrialKind, Kind> kinds;
  std::map<std::string, Setting> settings;  // seed, budget (seconds), share
  source::Range range;
};

struct Only {
  unsigned factor = 0;
  std::vector<unsigned> levels;
  source::Range range;
};
struct Assigned {
  unsigned parameter = 0;
  Value value;
  source::Range range;
};

/// What a preset or an override changes.
struct Change {
  std::string name;
  std::vector<Assigned> assigned;
  std::vector<Only> only;
  std::vector<std::string> removed, kept;                   // criteria by name; kept: all others are dropped
  bool removes_confident = false, keeps_confident = false;  // likewise all that have a confidence
  bool removes_all = false;
  std::vector<Criterion> criteria;
  std::optional<Design> design;
  source::Range range;

  /// Whether a criterion that is there before is no longer asked.
  bool drops(const Criterion& criterion) const;
};

/// Published values, as a study reads them.
struct Published {
  std::string name;
  std::string source;  // as it was written
  struct Row {
    std::vector<std::pair<unsigned, Value>> parameters;  // of the study
    std::vector<std::pair<unsigned, Rational>> metrics;  // of the study, in base units
  };
  std::vector<Row> rows;
  std::vector<unsigned> named;  // parameters of the study that it says something of
  source::Range range;
};

struct Study {
  std::string name, doc;
  /// The workload; of several their union, with a parameter `workload` first and each one's parameters active where it
  /// is chosen.
  const Workload* workload = nullptr;
  std::vector<Use> uses;           // at least one
  std::vector<Metric> metrics;     // the workload's, then the study's derived ones
  std::vector<Factor> factors;     // the factor `workload` first where there are several
  std::vector<int> factor_of;      // parameter → factor, or -1
  std::vector<Rule> rules;         // the workload's first
  std::vector<unsigned> measured;  // metrics, in order: `measure`, then what comparisons, tables and plots use
  std::vector<Comparison> comparisons;
  std::vector<Criterion> criteria;
  std::vector<Control> controls;
  std::vector<Published> references;
  std::optional<Design> design;
  std::vector<plan::Table> tables;  // in declared order
  std::vector<plan::Plot> plots;
  std::vector<Change> presets;
  source::Range range;  // of its name
  const ast::StudyDecl* declaration = nullptr;
  bool valid = true;  // false: errors were reported inside; do not expand it

  /// What a selection of criteria measures: `measured`, then what the criteria add. Derived metrics are listed after
  /// those that they read.
  std::vector<unsigned> measuredWith(const std::vector<const Criterion*>& criteria) const;

  int findFactor(std::string_view wanted) const { return plan::findNamed(factors, wanted); }
  int findMetric(std::string_view wanted) const { return plan::findNamed(metrics, wanted); }
  int findComparison(std::string_view wanted) const { return plan::findNamed(comparisons, wanted); }
  const Change* findPreset(std::string_view wanted) const { return plan::named(presets, wanted); }
  /// The parameter that chooses between several workloads is always the first.
  bool hasWorkloadFactor() const { return uses.size() > 1; }
};

/// What can be said about a machine: `gpus`, `gpu.memory`, …, in the order of the table of words.
struct SystemProperty {
  std::string_view name;
  Type type;
};
const std::vector<SystemProperty>& systemProperties();
/// Index of the property called `name`, or -1.
int findSystemProperty(std::string_view name);

/// A machine: what is known of it. Values by index into systemProperties(); nothing where it is not known.
struct System {
  std::string name, doc;
  std::vector<std::optional<Value>> values;
  source::Range range;

  /// A machine of which nothing is known.
  static System unknown(std::string name);
  const std::optional<Value>& operator[](std::string_view property) const;
  void set(std::string_view property, Value value);
};

/// {"gpus":4,"gpu.memory":100931731456}: what is known of it, in base units.
llvm::json::Object toJson(const System& system);
/// The system called `name` of which this is known; what no property is, has another type, or is no
/// whole number above zero, is left out.
System systemFromJson(std::string name, const llvm::json::Object& object);

}  // namespace expc::check
