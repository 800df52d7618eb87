#pragma once

// The syntax tree of one .exp file: what was written, nothing resolved. compiler/parse builds it,
// compiler/check reads it, and nobody changes it in between. Names are texts here; whether `fp32` is a level or
// a factor is decided when the checker knows the type of the place.
//
// Every node carries its range. Lists keep the order of the file, each kind of statement in a list of its own,
// since the order of declarations of different kinds has no meaning. Declarations can be copied: copies share
// their expressions.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/diag/source.h"

namespace expc::ast {

using source::Range;

/// One name.
struct Identifier {
  std::string name;
  Range range;
};

/// A dotted path: `image.mobilenet_v2`, `system.gpus`, `design.timed.repeat`.
struct QualifiedName {
  std::vector<Identifier> parts;
  Range range;
};

// ---- expressions ------------------------------------------------------------------------------------------------

struct Expr;
/// Null where the grammar lets an expression be absent; each field that may be null says so.
using ExprPtr = std::shared_ptr<Expr>;

/// A number and its unit, as one token: `300`, `0.5`, `2.0x`, `95%`, `80GiB`, `1e6`. Kept as text (`digits`
/// without the unit): the checker converts it exactly and reports what does not fit.
struct NumberLiteral {
  std::string digits;
  /// "" if there is none.
  std::string unit;
};
/// A text in quotes.
struct StringLiteral {
  std::string value;  // escapes resolved
};
/// `true` or `false`.
struct BoolLiteral {
  bool value;
};
/// A bare word or a dotted path. It means a factor, a let, an argument, an enum level or a property
/// (`system.gpus`).
struct NameExpr {
  QualifiedName name;
};
/// An argument, a selector or a field of a record, with or without a name: `size = 300px`.
struct CallArgument {
  std::optional<Identifier> name;
  ExprPtr value;
};
/// A call: `mnist("data")`, `speedup(step_time)`.
struct CallExpr {
  QualifiedName callee;
  std::vector<CallArgument> arguments;
};
/// A value at a chosen point: `gain[precision = fp32]`.
struct IndexExpr {
  ExprPtr base;
  std::vector<CallArgument> selectors;
};
/// `-a`, `not a`.
enum class UnaryOp { Negate, Not };
struct UnaryExpr {
  UnaryOp op;
  ExprPtr operand;
};
/// Binary operators. Precedence is the grammar's; the tree shows how they bind.
enum class BinaryOp {
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  In,
  NotIn,
  Add,
  Subtract,
  Multiply,
  Divide,
  Coalesce  // `rank ?? 0`: the right side where the left is not active
};
/// `left op right`; neither is null.
struct BinaryExpr {
  BinaryOp op;
  ExprPtr left, right;
};
/// A set of levels or values: `{ fp64, fp32 }`.
struct SetExpr {
  std::vector<ExprPtr> elements;
};
/// A range: `1..4`, `1..16 by *2`, `0..100 by 10`, `1..` (then `upper` is null).
struct RangeExpr {
  ExprPtr lower, upper;
  /// Null for steps of 1. With `geometric` the factor between neighbours.
  ExprPtr step;
  bool geometric = false;
};
/// A level of a lockstep factor: `(dali, nhwc)`.
struct TupleExpr {
  std::vector<ExprPtr> elements;
};
/// A value of a list type: `["python", "train.py"]`.
struct ListExpr {
  std::vector<ExprPtr> elements;
};
/// A value of a record type: `{ rank = 8, alpha = 16 }`. Every field has a name.
struct RecordExpr {
  std::vector<CallArgument> fields;
};

/// An expression with its range.
struct Expr {
  Range range;
  std::variant<NumberLiteral, StringLiteral, BoolLiteral, NameExpr, CallExpr, IndexExpr, UnaryExpr, BinaryExpr, SetExpr,
               RangeExpr, TupleExpr, ListExpr, RecordExpr>
      node;

  /// The node if it is of that type, else null.
  template <typename Node>
  const Node* as() const {
    return std::get_if<Node>(&node);
  }
};

// ---- declarations -------------------------------------------------------------------------------------------------

/// The common part of everything that has a name of its own.
struct Declaration {
  Range range;
  /// The `///` comment before it, shown in hovers and by `expc doc`; "" if there is none.
  std::string doc;
  Identifier name;
};

/// `import std.image` or `import "shared/jobs.exp" as jobs`.
struct Import {
  Range range;
  /// The name of a standard module, or a path relative to this file.
  std::variant<QualifiedName, StringLiteral> target;
  Range target_range;
  std::optional<Identifier> alias;
};

struct TypeExpr;
/// A part of a level's payload, with or without a name: `count : int`.
struct EnumField {
  std::optional<Identifier> name;
  std::unique_ptr<TypeExpr> type;
};
/// A level of an enum. `mnist(path)` and `synthetic(count : int)` are variants that carry a payload.
struct EnumLevel {
  Identifier name;
  std::vector<EnumField> fields;
};
/// `ordered enum method { none, lora }`; only levels of an ordered one can be compared with `<`.
struct EnumDecl : Declaration {
  bool ordered = false;
  std::vector<EnumLevel> levels;
};

/// A type as it is written: `int`, `precision`, `Pixels`, `Images / Time`, `int in 1..64`, `Ratio in { 0.5x,
/// 1.0x }`, `list(int)`, `(int, string)`, `{ rank : int, alpha : float }`.
struct TypeExpr {
  enum class Shape { Named, List, Tuple, Record };
  Range range;
  Shape shape = Shape::Named;
  QualifiedName name;              // Named
  std::vector<TypeExpr> parts;     // List (exactly one), Tuple, Record
  std::vector<Identifier> fields;  // Record: the name of each part
  /// The dimensions by which `name` is divided, as in `Images / Time`.
  std::vector<Identifier> per;
  /// The set or range after `in`; may be null.
  ExprPtr refinement;
};

/// `let warm = 30`. Also a unit: `unit krow = 1000row`, or `unit row` with a null value.
struct LetDecl : Declaration {
  ExprPtr value;
};

/// A parameter of a workload: `param batch : Images in 1.. = 64 when loader == dali`. In a study, a constant that
/// `-D` may replace: `param wanted : Ratio = 1.2x`. The value is the default; null: the study must give one.
struct ParamDecl : LetDecl {
  TypeExpr type;
  /// Whether each process of a command goes through its levels by itself, `param size : Bytes inside`.
  bool inside = false;
  /// Where each row of the output names its level, as `inside from csv(…)`; null: where `outputs` says.
  ExprPtr inside_source;
  /// The condition under which the parameter exists; may be null.
  ExprPtr when;
  /// The condition under which more of it (devices) share the same work, for `efficiency`; may be null.
  ExprPtr strong;
};

/// In a workload or a file: `metric step_time : Time lower timed`, or `metric profiler.*` for all metrics of a
/// module. In a study, computed from others: `metric share = a / b`.
struct MetricDecl : Declaration {
  /// `profiler.*`: the name is a module's.
  bool all = false;
  std::optional<TypeExpr> type;
  /// `lower` or `higher`: which values are better.
  std::optional<Identifier> direction;
  /// The kind of trial that yields it: `timed`, `quality`, `profile`.
  std::optional<Identifier> kind;
  /// A count without noise (bytes, launches): values are compared as they are, without an interval.
  bool exact = false;
  /// One value per epoch or logged step instead of one per trial.
  bool series = false;
  /// A series without an order, of which a sketch is kept.
  bool distribution = false;
  /// The output of a command may have no value of the metric.
  bool optional = false;
  /// The formula of a derived metric; may be null.
  ExprPtr derived;
  /// For a metric of a command, where it is read: `from regex(…)`; may be null.
  ExprPtr source;
};

/// A part of what a workload expects of a metric before it runs: `estimate device_memory_peak = 4B * parameters
/// when precision == fp32`. The parts of one metric whose `when` holds are added. The name is the metric's.
struct EstimateDecl : Declaration {
  ExprPtr value;
  ExprPtr when;  // may be null
};

/// `require` keeps points that satisfy the condition, `exclude` removes them.
enum class RuleKind { Require, Exclude };
/// A rule: `require cards: gpus <= system.gpus because "the node has fewer cards"`.
struct RuleDecl {
  Range range;
  std::string doc;
  RuleKind kind;
  std::optional<Identifier> name;
  ExprPtr condition;
  std::optional<std::string> because;
};

/// A string in a place where the grammar allows nothing else.
struct Text {
  std::string value;  // escapes resolved
  Range range;
};

/// One argument of a command; or `options "--{name}" "{value}"`, which stands for all parameters that no other
/// argument holds.
struct CommandArgument {
  Range range;
  bool options = false;
  /// Exactly one for an argument. For `options` its form, empty for the usual one.
  std::vector<Text> texts;
};

/// `command ["python", "train.py", "--gpus", "${gpus}"] timeout 2h`; also `prepare […]` and `before […]`.
struct Command {
  Range range;
  std::vector<CommandArgument> arguments;
  ExprPtr timeout;  // may be null
};

/// A name behind `use` in a study or a part, or behind `service` in a workload.
struct NamedUse {
  Range range;
  QualifiedName name;
};

/// `ready http("/health") timeout 5min`: how a service shows that clients may start.
struct Ready {
  Range range;
  ExprPtr how;
  ExprPtr timeout;  // may be null
};

/// A program that trials run: one of the worker's, or a command of the user's, with its parameters, metrics and
/// rules. Only commands have inputs, outputs, preparations, exit codes, expectations and services.
/// A service, `service vllm command […] { … }`, is one too: it has `ready`, and no outputs and the like.
struct WorkloadDecl : Declaration {
  std::optional<Command> command;
  /// Files and patterns that the command reads. A change of one makes stored trials stale.
  std::vector<Text> inputs;
  /// The inputs marked `copy`: each trial gets its own copy.
  std::vector<Text> copied;
  /// The reader (`json("out.json")`) of metrics without a source of their own; may be null.
  ExprPtr outputs;
  /// Programs that run once before the trials, and before each start.
  std::optional<Command> prepare, before;
  /// Exit codes that mean success; empty means 0 alone.
  std::vector<int> exit_codes;
  Range exit_range;
  /// The parameter that counts the processes of a trial: `ranks gpus`.
  std::optional<Identifier> ranks;
  std::optional<Ready> ready;
  std::vector<NamedUse> services;
  /// Calls (`regex(…)`, `same(…)`) that a valid trial's output must satisfy.
  std::vector<ExprPtr> expectations;
  /// The author raises it only when results would change.
  std::optional<int> version;
  Range version_range;
  std::vector<ParamDecl> params;
  std::vector<LetDecl> lets;
  std::vector<MetricDecl> metrics;
  std::vector<EstimateDecl> estimates;
  std::vector<RuleDecl> rules;
};

/// A workload in a study: `workload image.mobilenet_v2(size = 300px)`, or with a label where a study has
/// several: `workload ours = image.mobilenet_v2(size = 300px)`.
struct WorkloadUse {
  Range range;
  std::optional<Identifier> label;
  QualifiedName name;
  std::vector<CallArgument> arguments;
};

/// `factor precision in { fp64, fp32 } baseline fp64 when …`. A lockstep factor varies several parameters
/// together: `factor (loader, layout) in { (dali, nhwc), … }`. Its name is "(loader, layout)", with single
/// blanks: wherever a factor is named (quantifier, over, by, only, selector), the parser turns names in
/// parentheses into one such identifier.
struct FactorDecl : Declaration {
  std::vector<Identifier> parts;  // the parameters of a lockstep factor; empty for a simple one
  ExprPtr levels;                 // null: all levels of the parameter's type
  ExprPtr baseline;               // may be null
  ExprPtr when;                   // may be null
};

/// `measure step_time, loss`: metrics to measure beside those that something reads.
struct MeasureDecl {
  Range range;
  std::vector<Identifier> metrics;
};

/// `compare gain = speedup(step_time) over precision against fp32 partial`.
/// An aggregate is a comparison without a baseline: `compare overall = geomean(gain) over program, size`, or with the
/// word `metric`.
struct CompareDecl : Declaration {
  CallExpr call;
  Range call_range;
  /// One factor, or those that an aggregate goes over; empty for `*`.
  std::vector<Identifier> over;
  Range over_range;
  ExprPtr where;  // may be null
  /// The level to compare with; the bare name `previous` means the level before. Null: the factor's baseline.
  ExprPtr against;
  /// Points without a partner are accepted.
  bool partial = false;
  /// A claim states it itself, `geomean(gain) over program >= 1x`. Its name is this text, and several may be the same.
  bool stated = false;
};

/// `control twice = [method = lora, rank = 8]`: a second label on one point, so the two differ by noise alone.
/// Each selector has a name.
struct ControlDecl : Declaration {
  std::vector<CallArgument> selectors;
};

enum class QuantifierKind { ForAll, Exists, AtLeast };
/// A quantifier of a criterion: `forall gpus, loader where gpus > 1:`. `forall *` and `forall where gpus > 1`
/// range over all factors (`all`).
struct Quantifier {
  Range range;
  QuantifierKind kind;
  /// How many of `at least 3 of gpus` or `at least 90% of gpus`; null for other kinds.
  ExprPtr least;
  bool all = false;
  std::vector<Identifier> factors;
  ExprPtr where;  // may be null
};
/// `subject >= bound`. The subject is compared with one bound, with a band (`within 0.6x..0.7x`), or with a published
/// value (`gain like tables.table2 within 5%`). `infeasible` has no subject: it claims that the points run out of
/// memory. `absent(subject)` has no bound: it claims that trials have no value.
struct Assertion {
  Range range;
  bool infeasible = false;
  bool absent = false;
  /// Null with `infeasible`.
  ExprPtr subject;
  /// The reference after `like`.
  std::optional<QualifiedName> like;
  /// The tolerance after `like`: `within 5%`; may be null.
  ExprPtr like_within;
  /// The operator before `bound` (>=, >, <=, <, ==); absent for a band and for `like`.
  std::optional<BinaryOp> relation;
  /// Present if `relation` is.
  ExprPtr bound;
  /// `within low..high`; null for other forms.
  ExprPtr band_low, band_high;
  /// The widening of a band, an old spelling; may be null.
  ExprPtr give;
};
/// The claim of a criterion: an assertion, or claims joined by `and` or `or`, behind quantifiers that reach to its end.
struct Claim {
  Range range;
  enum class Kind { Assertion, And, Or } kind = Kind::Assertion;
  std::vector<Quantifier> quantifiers;
  Assertion assertion;
  std::vector<Claim> parts;  // of And and Or, at least two
};
/// `criterion name: claim with confidence 95%`.
struct CriterionDecl : Declaration {
  Claim claim;
  ExprPtr confidence;  // may be null
  /// The word `always`, by which the criterion refuses the study's confidence; invalid without it.
  Range always;
};
/// `confidence 95%`: the confidence of every criterion of a study or a file that states none.
struct ConfidenceDecl {
  Range range;
  ExprPtr value;
};

/// `expected gain = 1.5x  noise 8%`: a value that the author expects before the run, and the noise of one trial.
struct ExpectedDecl {
  Range range;
  Identifier name;
  ExprPtr value;
  ExprPtr noise;  // may be null
};

/// A setting of a design: `repeat 10`, `steps 300`, `seed 7`, `budget 24h`, `repeat 10..20 until
/// half_width(gain) <= 1%`, `repeat 20 looks at 8, 14`.
struct DesignSetting {
  Range range;
  Identifier name;
  ExprPtr value;
  ExprPtr until;  // may be null
  std::vector<ExprPtr> looks;
};
/// `timed { repeat 10  steps 300 }`: settings of one kind of trial.
struct DesignKindBlock {
  Range range;
  Identifier kind;  // timed, quality, profile
  std::vector<DesignSetting> settings;
};
/// `design { … }`: how often and how long points are measured. A preset's settings are merged into the study's.
struct DesignDecl {
  Range range;
  std::vector<DesignKindBlock> kinds;
  std::vector<DesignSetting> settings;
};

/// `table step_time by gpus, precision`, or a description: `table effects of step_time`.
struct TableDecl {
  Range range;
  /// A metric or comparison; before `of` the kind of description.
  Identifier subject;
  /// The metrics after `of`; empty for a plain table.
  std::vector<Identifier> of;
  std::vector<Identifier> by;
};
/// `plot gain over gpus by precision`.
struct PlotDecl {
  Range range;
  Identifier subject;
  Identifier over;
  std::vector<Identifier> by;
};

/// `only gpus in { 1, 2 }`: restricts a factor in a preset.
struct OnlyClause {
  Range range;
  Identifier factor;
  ExprPtr levels;
};
/// `size = 32px`, `design.timed.repeat = 3`, or a property of a system.
struct Assignment {
  Range range;
  QualifiedName target;
  ExprPtr value;
};
/// Which criteria a preset keeps or removes: `keep criterion a, b`, `remove criterion a`, `remove criterion
/// with confidence`, `remove criterion *`.
struct CriteriaClause {
  enum class Which { Named, Confident, All };
  Range range;
  bool keep = false;
  Which which = Which::Named;
  std::vector<Identifier> criteria;  // Named
};
/// A named change of a study, applied with `--preset`.
struct PresetDecl : Declaration {
  std::vector<Assignment> assignments;
  std::vector<OnlyClause> only;
  std::vector<CriteriaClause> claims;
  std::vector<DesignDecl> designs;
  /// Added while the preset is applied.
  std::vector<CriterionDecl> criteria;
};

/// A grid of points, how they are measured, and what is claimed of them.
struct StudyDecl : Declaration {
  /// Parts, whose statements count as if they stood here.
  std::vector<NamedUse> uses;
  std::vector<WorkloadUse> workloads;
  std::vector<ParamDecl> params;
  std::vector<FactorDecl> factors;
  std::vector<LetDecl> lets;
  std::vector<RuleDecl> rules;
  std::vector<MetricDecl> metrics;
  std::vector<MeasureDecl> measures;
  std::vector<CompareDecl> compares;
  std::vector<ControlDecl> controls;
  std::vector<CriterionDecl> criteria;
  std::vector<ConfidenceDecl> confidences;
  std::vector<ExpectedDecl> expected;
  std::vector<DesignDecl> designs;
  std::vector<TableDecl> tables;
  std::vector<PlotDecl> plots;
  std::vector<PresetDecl> presets;
};

/// Statements that studies share: `part four_cards { factor gpus in 1..4 }`. They are checked where they are used.
struct PartDecl : StudyDecl {};

/// A described machine, for planning without it: `system box { gpus = 4  gpu.memory = 94GB }`.
struct SystemDecl : Declaration {
  std::vector<Assignment> properties;
};

/// Published values in a CSV file, with what its columns mean:
///   reference table2 from "precision.csv" {
///     gpus  total_time = column(total_time_s) * 1s  epoch_time = total_time / 20
///   }
struct ReferenceDecl : Declaration {
  Text path;
  /// Named as parameters and metrics of the studies that use the reference. A null value reads the column of
  /// that name.
  std::vector<LetDecl> columns;
};

/// One file.
struct Module {
  source::FileId file;
  std::vector<Import> imports;
  std::vector<LetDecl> units;
  std::vector<EnumDecl> enums;
  std::vector<LetDecl> lets;
  /// For workloads that take them all (`metric profiler.*`).
  std::vector<MetricDecl> metrics;
  std::vector<WorkloadDecl> workloads, services;
  std::vector<SystemDecl> systems;
  std::vector<ReferenceDecl> references;
  /// These three apply to every study of the file; a study's own confidence and design replace the file's.
  std::vector<ConfidenceDecl> confidences;
  std::vector<DesignDecl> designs;
  std::vector<PresetDecl> presets;
  std::vector<PartDecl> parts;
  std::vector<StudyDecl> studies;
};

}  // namespace expc::ast
