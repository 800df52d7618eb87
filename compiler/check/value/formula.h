#pragma once

// Formulas: expressions whose names are resolved and whose types are checked, and the one evaluator for
// everything that is known before a run (rules, `when`, `where`, estimates). Constant parts are folded when a
// formula is built, by the same evaluator. Formulas are immutable and shared, so a `let` used many times is one
// node.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "compiler/check/value/value.h"
#include "compiler/diag/diagnostic.h"
#include "runtime/base/llvm.h"

namespace expc::check {

/// A resolved and typed expression over the parameters of a workload.
struct Formula;
using FormulaPtr = std::shared_ptr<const Formula>;
struct Formula {
  // The order is that of Evaluator::run's table; InSet separates comparisons from the rest.
  enum class Op {
    Constant,
    Parameter,
    /// `parameter` is a metric of the owner, at the point in question. Has a value in trials only.
    Metric,
    /// The index of the first value of a series that satisfies a condition. Operand: a comparison of the series
    /// with a constant.
    EpochsTo,
    /// One number of a series. Operands: the series, then as constants the number of a plan::Reduction::Take and the
    /// reduction's percentile, skip, first and last.
    Reduce,
    /// `parameter` is a property of the machine, an index into systemProperties().
    System,
    /// `parameter` is an index into lookupFunctions(). Operands: the arguments.
    Lookup,
    /// Operands: a condition, its value, …, and at the end the value if none holds.
    Choose,
    /// The largest of the operands, of which a list stands for its elements; likewise the smallest.
    Max,
    Min,
    /// The second operand if the first reads an inactive parameter, or a number that no file states.
    Coalesce,
    Not,
    Negate,
    /// The number of elements of the operand, a list.
    Size,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    /// Operands: the value, then the elements.
    InSet,
    /// Operands: the value, a list.
    InList,
    /// Operands: the value, lower, upper (may be null), step (may be null).
    InRange,
    Add,
    Subtract,
    Multiply,
    Divide,
    /// A level with a payload. Operands: the payload of `constant`'s level.
    Variant,
    /// Part `parameter` of the operand, a record.
    Field,
    /// Operands: the parts of `constant`, which is a list, tuple or record without any.
    Sequence
  };
  Op op = Op::Constant;
  /// InRange: the step is a factor.
  bool geometric = false;
  /// Whether a System or a Lookup occurs anywhere below.
  bool uses_system = false;
  bool looks_up = false;
  /// The index of a Parameter, Metric, System, Lookup or Field.
  unsigned parameter = 0;
  /// The number of nodes of the tree; a shared one counts at each use.
  uint32_t size = 1;
  /// The type of its value; an enumeration's owner must outlive the formula.
  Type type;
  source::Range range;
  /// Constant: its value. Variant, Sequence: the value without its parts.
  Value constant;
  std::vector<FormulaPtr> operands;

  bool isConstant() const { return op == Op::Constant; }
};

/// Limit on the nodes of an expression, so that evaluation of any file neither recurses too deep nor takes
/// forever.
inline constexpr uint32_t kMaxFormulaSize = 2000;

/// The parameters that a formula reads, ascending, each once.
std::vector<unsigned> parametersOf(const Formula& formula);
/// The metrics that a formula reads, each once, in the order in which they are first read.
std::vector<unsigned> metricsOf(const Formula& formula);

/// A function of estimates whose value stands in files, such as `config(model, "hidden_size")`. Its name and
/// types belong to the language; the code that reads the files is handed in (check::check), since check reads
/// none.
struct LookupFunction {
  std::string_view name;
  /// Its arguments in words, for messages.
  std::string_view takes;
  /// The kind of each argument; Error: any kind.
  std::vector<Type::Kind> arguments;
  /// The type of its value.
  Type type;
};
const std::vector<LookupFunction>& lookupFunctions();
/// The index into lookupFunctions, or -1.
int findLookup(std::string_view name);
/// Computes such a function: its value in base units, or nothing if the files do not state it.
using Lookup = std::function<std::optional<Rational>(std::string_view function, std::span<const Value> arguments)>;

/// The values of names while a formula is evaluated. Refers to everything; owns nothing.
struct Environment {
  /// One pointer for each parameter, null for an inactive one.
  const Value* const* parameters = nullptr;
  size_t count = 0;
  /// Values indexed by systemProperties(); null: no machine is given.
  const std::vector<std::optional<Value>>* system = nullptr;
  /// Null or empty: no file is read, and lookups have no value.
  const Lookup* lookup = nullptr;
};

/// The reason why a formula has no value, and the place of the operator or name. Inactive: `parameter` is the
/// one without a value.
struct Failure {
  enum class Kind { Overflow, DivisionByZero, Inactive, NoSystem, NotFound } kind = Kind::Overflow;
  source::Range range;
  unsigned parameter = 0;
};
using Outcome = std::variant<Value, Failure>;

/// Evaluates a well-typed formula that reads no metric; those are computed by plan::evaluate from what a trial
/// measured or a reference publishes. `and` and `or` stop as soon as the result is certain, so a later operand
/// may lack a value.
Outcome evaluate(const Formula& formula, const Environment& environment);

/// Whether a number is one of `lower..upper`, with a distance or (`geometric`) a factor between neighbours.
/// `upper` and `step` may be null. Nothing if that cannot be computed exactly.
std::optional<bool> liesInRange(const Rational& value, const Rational& lower, const Rational* upper,
                                const Rational* step, bool geometric);

/// Reports a failure at its place; `context` becomes a note unless empty. `parameter_name` is used for
/// Inactive.
void reportFailure(const Failure& failure, std::string_view parameter_name, const std::string& context,
                   diag::Emitter& emitter);

/// The values of `lower..upper`. Nothing after reporting one that is empty, endless, has a step that does not
/// advance, more than `limit` values, or a value that cannot be held exactly.
std::optional<std::vector<Value>> enumerateRange(const Value& lower, const Value* upper, const Value* step,
                                                 bool geometric, source::Range range, size_t limit,
                                                 diag::Emitter& emitter);

/// Topological order: calls `visit` for each of 0…`count`-1 once, after everything that `needs` names for it. A
/// node that needs itself, directly or through others, is passed to `cycle` once for each circle; it then goes
/// before what it needs. Recurses as deep as the longest chain.
void inOrder(size_t count, function_ref<void(size_t, function_ref<void(size_t)>)> needs,
             function_ref<void(size_t)> visit, function_ref<void(size_t)> cycle);

}  // namespace expc::check
