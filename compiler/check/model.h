#pragma once

// What `check` hands on: every name resolved, every value constant and in base units, nothing expanded yet. Pointers
// between parts stay valid as long as their Program.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/formula.h"
#include "compiler/check/value.h"

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
  std::string name;
  Type type;
  std::optional<Refinement> refinement;
  std::optional<Value> fallback;  // the default
  FormulaPtr when;                // over earlier parameters; null: always active
  source::Range range;
};

enum class Direction { Lower, Higher };
enum class TrialKind { Timed, Quality, Profile };
std::string_view toString(TrialKind kind);

struct Metric {
  std::string name;
  Dimension dimension;
  std::optional<Refinement> refinement;
  Direction better = Direction::Lower;
  TrialKind kind = TrialKind::Timed;
  bool exact = false;
  source::Range range;
};

struct Rule {
  ast::RuleKind kind = ast::RuleKind::Require;
  std::string name;  // "" when it has none
  std::string because;
  FormulaPtr condition;
  std::vector<unsigned> parameters;  // that the condition reads
  source::Range range;
  bool of_workload = false;

  bool usesSystem() const { return condition->uses_system; }
};

struct Workload {
  std::string name;  // "image.mobilenet_v2"; unqualified in the root file
  int version = 1;
  std::vector<Parameter> parameters;
  std::vector<Metric> metrics;
  std::vector<Rule> rules;
  source::Range range;
  bool valid = true;  // false: errors were reported inside

  int findParameter(std::string_view name) const;
  int findMetric(std::string_view name) const;
};

struct Level {
  Value value;
  std::string label;  // as it is written
  source::Range range;
};

struct Factor {
  std::string name;
  unsigned parameter = 0;
  std::vector<Level> levels;
  std::optional<unsigned> baseline;
  std::vector<std::string> declared;  // labels as written: {"1..4"} or {"fp64", "fp32"}
  source::Range range;
};

struct Comparison {
  enum class Function { Speedup, Ratio, Difference, Efficiency };
  std::string name;
  std::string text;  // "speedup(step_time) over precision against fp64"
  Function function = Function::Speedup;
  unsigned metric = 0;  // of the workload
  unsigned over = 0;    // factor
  bool previous = false;
  unsigned against = 0;  // level of `over`, unless previous
  source::Range range;
};

/// In base units.
struct Bound {
  enum class Relation { GreaterEqual, Greater, LessEqual, Less, Equal, Within };
  Relation relation = Relation::GreaterEqual;
  Rational low, high;  // `high` only for Within
  std::string text;    // ">= 1.2x"
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
  std::optional<unsigned> comparison;  // of the study, or
  unsigned metric = 0;                 // of the workload (of the comparison's too)
  Bound bound;
  std::optional<double> confidence;
  source::Range range;
};

struct Setting {
  Rational value;
  source::Range range;
};

/// Settings by name; of a preset or a study, before merging.
struct Design {
  struct Kind {
    std::map<std::string, Setting> settings;  // repeat, steps, warmup, epochs
    source::Range range;
  };
  std::map<TrialKind, Kind> kinds;
  std::map<std::string, Setting> settings;  // seed, budget (seconds)
  source::Range range;
};

struct Output {  // table or plot
  bool plot = false;
  std::string subject;
  std::optional<unsigned> over;
  std::vector<unsigned> by;
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
  std::vector<std::string> removed;
  std::vector<Criterion> criteria;
  std::optional<Design> design;
  source::Range range;
};

struct Study {
  std::string name, doc;
  const Workload* workload = nullptr;
  std::vector<std::optional<Value>> arguments;  // one for each parameter: the argument, else the default
  std::vector<Factor> factors;
  std::vector<int> factor_of;      // parameter → factor, or -1
  std::vector<Rule> rules;         // the workload's first
  std::vector<unsigned> measured;  // metrics, in order: `measure`, then what comparisons, tables and plots use
  std::vector<Comparison> comparisons;
  std::vector<Criterion> criteria;
  std::optional<Design> design;
  std::vector<Output> outputs;
  std::vector<Change> presets;
  source::Range range;  // of its name
  const ast::StudyDecl* declaration = nullptr;
  bool valid = true;  // false: errors were reported inside; do not expand it

  /// What a selection of criteria measures: `measured`, then what the criteria add.
  std::vector<unsigned> measuredWith(const std::vector<const Criterion*>& criteria) const;

  int findFactor(std::string_view name) const;
  int findComparison(std::string_view name) const;
  const Change* findPreset(std::string_view name) const;
};

}  // namespace expc::check
