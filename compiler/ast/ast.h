#pragma once

// The syntax tree of one .exp file: what was written, nothing resolved. Every node carries its range.

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/source/source.h"

namespace expc::ast {

using source::Range;

struct Identifier {
  std::string name;
  Range range;
};

/// `image.mobilenet_v2`, `system.gpus`, `design.timed.repeat`.
struct QualifiedName {
  std::vector<Identifier> parts;
  Range range;
};

// ---- expressions ------------------------------------------------------------------------------------------------

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

/// A number and its unit, as one token: `300`, `0.5`, `2.0x`, `95%`, `80GiB`, `1e6`. `digits` is the text without unit.
struct NumberLiteral {
  std::string digits;
  std::string unit;  // "" when there is none
};
struct StringLiteral {
  std::string value;  // escapes resolved
};
struct BoolLiteral {
  bool value;
};
/// A bare word or a dotted path; resolved by the checker (factor, let, argument, enum level, `system.gpus`).
struct NameExpr {
  QualifiedName name;
};
struct CallArgument {
  std::optional<Identifier> name;  // `size = 300px`
  ExprPtr value;
};
/// `mnist("data")`, `speedup(step_time)`.
struct CallExpr {
  QualifiedName callee;
  std::vector<CallArgument> arguments;
};
/// `gain[precision = fp32]`
struct IndexExpr {
  ExprPtr base;
  std::vector<CallArgument> selectors;
};
enum class UnaryOp { Negate, Not };
struct UnaryExpr {
  UnaryOp op;
  ExprPtr operand;
};
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
struct BinaryExpr {
  BinaryOp op;
  ExprPtr left, right;
};
/// `{ fp64, fp32 }`
struct SetExpr {
  std::vector<ExprPtr> elements;
};
/// `1..4`, `1..16 by *2`, `0..100 by 10`, `1..` (upper null)
struct RangeExpr {
  ExprPtr lower, upper;
  ExprPtr step;  // may be null
  bool geometric = false;
};
/// `(dali, nhwc)`
struct TupleExpr {
  std::vector<ExprPtr> elements;
};
/// `["python", "train.py"]`
struct ListExpr {
  std::vector<ExprPtr> elements;
};
/// `{ rank = 8, alpha = 16 }`
struct RecordExpr {
  std::vector<CallArgument> fields;  // every one has a name
};

struct Expr {
  Range range;
  std::variant<NumberLiteral, StringLiteral, BoolLiteral, NameExpr, CallExpr, IndexExpr, UnaryExpr, BinaryExpr, SetExpr,
               RangeExpr, TupleExpr, ListExpr, RecordExpr>
      node;
};

// ---- declarations -------------------------------------------------------------------------------------------------

/// What is called by a name of its own.
struct Declaration {
  Range range;
  std::string doc;  // the `///` comment before it
  Identifier name;
};

struct Import {
  Range range;
  std::variant<QualifiedName, StringLiteral> target;  // `std.image` or "path.exp"
  Range target_range;
  std::optional<Identifier> alias;
};

/// A level of an enum; `mnist(path)`, `synthetic(count : int)` are variants with a payload.
struct TypeExpr;
struct EnumField {
  std::optional<Identifier> name;
  std::unique_ptr<TypeExpr> type;
};
struct EnumLevel {
  Identifier name;
  std::vector<EnumField> fields;
};
struct EnumDecl : Declaration {
  bool ordered = false;
  std::vector<EnumLevel> levels;
};

/// `int`, `precision`, `Pixels`, `Images / Time`, `int in 1..64`, `Ratio in { 0.5x, 1.0x }`, `list(int)`,
/// `(int, string)`, `{ rank : int, alpha : float }`.
struct TypeExpr {
  enum class Shape { Named, List, Tuple, Record };
  Range range;
  Shape shape = Shape::Named;
  QualifiedName name;              // Named
  std::vector<TypeExpr> parts;     // List (one), Tuple, Record
  std::vector<Identifier> fields;  // Record: a name for each part
  std::vector<Identifier> per;     // `Images / Time`: the dimensions below
  ExprPtr refinement;              // may be null
};

/// `let warm = 30`; also `unit row`, whose value may be null, and `unit krow = 1000row`.
struct LetDecl : Declaration {
  ExprPtr value;
};

/// `param batch : Images in 1.. = 64 when loader == dali`
struct ParamDecl : Declaration {
  TypeExpr type;
  ExprPtr default_value;  // null: the study must give it
  ExprPtr when;           // may be null
  ExprPtr strong;         // where more of it share the same work; may be null
};

/// In a workload or a file: `metric step_time : Time lower timed`; `metric profiler.*` stands for all of a module. In a
/// study (derived): `metric share = a / b`.
struct MetricDecl : Declaration {
  bool all = false;  // the name is a module's
  std::optional<TypeExpr> type;
  std::optional<Identifier> direction;  // lower, higher
  std::optional<Identifier> kind;       // timed, quality, profile
  bool exact = false;                   // bytes, counts: compared as they are
  bool series = false;                  // a value for each epoch or logged step
  ExprPtr derived;                      // may be null
  ExprPtr source;                       // of a command's metric: `from regex(…)`; may be null
};

/// `estimate device_memory_peak = 4B * parameters when precision == fp32`: a part of what a workload expects of a
/// metric before it runs; the parts of one metric whose `when` holds add up.
struct EstimateDecl : Declaration {  // called as the metric is
  ExprPtr value;
  ExprPtr when;  // may be null
};

enum class RuleKind { Require, Exclude };
/// `require cards: gpus <= system.gpus because "the node has fewer cards"`
struct RuleDecl {
  Range range;
  std::string doc;
  RuleKind kind;
  std::optional<Identifier> name;
  ExprPtr condition;
  std::optional<std::string> because;
};

/// A text in a place where nothing else may stand.
struct Text {
  std::string value;  // escapes resolved
  Range range;
};

/// One argument, or `options "--{name}" "{value}"`: as many as there are parameters left.
struct CommandArgument {
  Range range;
  bool options = false;
  std::vector<Text> texts;  // one; of `options` its form, none where it is the usual one
};

/// `command ["python", "train.py", "--gpus", "${gpus}"] timeout 2h`; `prepare […]`, `before […]`
struct Command {
  Range range;
  std::vector<CommandArgument> arguments;
  ExprPtr timeout;  // may be null
};

struct WorkloadDecl : Declaration {
  std::optional<Command> command;
  std::vector<Text> inputs;  // of a command: files and patterns that it reads
  std::vector<Text> copied;  // of these the ones that each trial has copies of
  ExprPtr outputs;           // of a command: where its metrics are read from that do not say it; may be null
  std::optional<Command> prepare, before;
  std::vector<int> exit_codes;  // with which a command ends well; none: 0 alone
  Range exit_range;
  std::vector<ExprPtr> expectations;
  std::optional<int> version;  // `version 2`: raised only when results would change
  Range version_range;
  std::vector<ParamDecl> params;
  std::vector<LetDecl> lets;
  std::vector<MetricDecl> metrics;
  std::vector<EstimateDecl> estimates;
  std::vector<RuleDecl> rules;
};

/// `workload image.mobilenet_v2(size = 300px)`
/// or `workload ours = image.mobilenet_v2(size = 300px)` where a study has several.
struct WorkloadUse {
  Range range;
  std::optional<Identifier> label;
  QualifiedName name;
  std::vector<CallArgument> arguments;
};

/// `factor precision in { fp64, fp32 } baseline fp64 when …`. In `factor (loader, layout) in { (dali, nhwc), … }` the
/// name is "(loader, layout)", written so wherever a factor is named: a reader that sees a name in parentheses in a
/// place of a factor (quantifier, over, by, only, selector) makes one identifier of it, with single blanks.
struct FactorDecl : Declaration {
  std::vector<Identifier> parts;  // of a lockstep factor; empty for a simple one
  ExprPtr levels;
  ExprPtr baseline;  // may be null
  ExprPtr when;      // may be null
};

struct MeasureDecl {
  Range range;
  std::vector<Identifier> metrics;
};

/// `compare gain = speedup(step_time) over precision against fp32 allow W0406`
struct CompareDecl : Declaration {
  CallExpr call;
  Range call_range;
  Identifier over;
  ExprPtr against;                    // may be null; the bare name `previous` is the level before
  std::optional<Identifier> allowed;  // the code of a warning
};

/// `control twice = [method = lora, rank = 8]`: a second label on one point.
struct ControlDecl : Declaration {
  std::vector<CallArgument> selectors;  // each has a name
};

enum class QuantifierKind { ForAll, Exists };
/// `forall gpus, loader where gpus > 1:`; `forall *` and `forall where gpus > 1` have all = true.
struct Quantifier {
  Range range;
  QuantifierKind kind;
  bool all = false;
  std::vector<Identifier> factors;
  ExprPtr where;  // may be null
};
/// `criterion name: Q* subject >= bound with confidence 95%`; the subject is compared with one bound, a band (`within
/// 0.6x..0.7x give 10%`), or what a reference publishes (`gain like tables.table2 within 5%`). `criterion oom: Q*
/// infeasible` has no subject.
struct CriterionDecl : Declaration {
  std::vector<Quantifier> quantifiers;
  bool infeasible = false;
  ExprPtr subject;                    // null with `infeasible`
  std::optional<QualifiedName> like;  // a reference
  ExprPtr like_within;                // `within 5%` after it; may be null
  std::optional<BinaryOp> relation;   // >=, >, <=, <, ==
  ExprPtr bound;                      // with relation
  ExprPtr band_low, band_high;        // `within low..high`, without relation
  ExprPtr give;                       // with a band; may be null
  ExprPtr confidence;                 // may be null
  Range always;                       // of the word that refuses the study's confidence; invalid without it
};
/// `confidence 95%`: of every criterion of a study or a file that says nothing else.
struct ConfidenceDecl {
  Range range;
  ExprPtr value;
};

/// One setting of a design block: `repeat 10`, `steps 300`, `order blocks`, `seed 7`, `budget 24h`,
/// `repeat 10..20 until half_width(gain) <= 1%`, `repeat 20 looks at 8, 14`.
struct DesignSetting {
  Range range;
  Identifier name;
  ExprPtr value;
  ExprPtr until;  // may be null
  std::vector<ExprPtr> looks;
};
struct DesignKindBlock {
  Range range;
  Identifier kind;  // timed, quality, profile
  std::vector<DesignSetting> settings;
};
struct DesignDecl {
  Range range;
  std::optional<Identifier> shape;  // full; absent in a preset, which merges
  std::vector<DesignKindBlock> kinds;
  std::vector<DesignSetting> settings;
};

/// `table step_time by gpus, precision`, `table effects of step_time`
struct TableDecl {
  Range range;
  Identifier subject;          // of `of` what it describes: `effects`
  std::vector<Identifier> of;  // metrics
  std::vector<Identifier> by;
};
/// `plot gain over gpus by precision`
struct PlotDecl {
  Range range;
  Identifier subject;
  Identifier over;
  std::vector<Identifier> by;
};

/// `only gpus in { 1, 2 }`
struct OnlyClause {
  Range range;
  Identifier factor;
  ExprPtr levels;
};
/// `size = 32px`
struct Assignment {
  Range range;
  QualifiedName target;
  ExprPtr value;
};
/// `keep criterion a, b`, `remove criterion a`, `remove criterion with confidence`, `remove criterion *`
struct CriteriaClause {
  enum class Which { Named, Confident, All };
  Range range;
  bool keep = false;
  Which which = Which::Named;
  std::vector<Identifier> criteria;  // Named
};
struct PresetDecl : Declaration {
  std::vector<Assignment> assignments;
  std::vector<OnlyClause> only;
  std::vector<CriteriaClause> claims;
  std::vector<DesignDecl> designs;
  std::vector<CriterionDecl> criteria;  // added while the preset is on
};

struct StudyDecl : Declaration {
  std::vector<WorkloadUse> workloads;
  std::vector<FactorDecl> factors;
  std::vector<LetDecl> lets;
  std::vector<RuleDecl> rules;
  std::vector<MetricDecl> metrics;
  std::vector<MeasureDecl> measures;
  std::vector<CompareDecl> compares;
  std::vector<ControlDecl> controls;
  std::vector<CriterionDecl> criteria;
  std::vector<ConfidenceDecl> confidences;
  std::vector<DesignDecl> designs;
  std::vector<TableDecl> tables;
  std::vector<PlotDecl> plots;
  std::vector<PresetDecl> presets;
};

/// `system box { gpus = 4  gpu.memory = 94GB }`
struct SystemDecl : Declaration {
  std::vector<Assignment> properties;
};

/// `reference table2 from "precision.csv" { gpus  total_time = column(total_time_s) * 1s  epoch_time = total_time / 20
/// }`
struct ReferenceDecl : Declaration {
  Text path;
  std::vector<LetDecl> columns;  // parameters and metrics of the studies that use it; no value: the column so called
};

/// One file.
struct Module {
  source::FileId file;
  std::vector<Import> imports;
  std::vector<LetDecl> units;
  std::vector<EnumDecl> enums;
  std::vector<LetDecl> lets;
  std::vector<MetricDecl> metrics;  // for workloads that take them all
  std::vector<WorkloadDecl> workloads;
  std::vector<SystemDecl> systems;
  std::vector<ReferenceDecl> references;
  std::vector<ConfidenceDecl> confidences;  // for every study of the file that has none
  std::vector<DesignDecl> designs;          // likewise
  std::vector<PresetDecl> presets;          // for every study of the file
  std::vector<StudyDecl> studies;
};

}  // namespace expc::ast
