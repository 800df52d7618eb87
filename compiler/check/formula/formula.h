#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

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

namespace expc::check {

/// A resolved and typed expression over a workload's parameters. Shared, immutable; a `let` is shared by its uses.
struct Formula;
using FormulaPtr = std::shared_ptr<const Formula>;
struct Formula {
  enum class Op {
    Constant,
    Parameter,
    Metric,    // `parameter` is a metric of the owner, of the point in question
    EpochsTo,  // the place of the first value of a series; operands: a comparison of the series with a constant
    System,    // `parameter` is a property of the machine (system.h)
    Lookup,    // `parameter` is one of lookupFunctions; operands: its arguments
    Choose,    // operands: a condition, its value, …, and the value where none holds
    Max,       // of operands
    Min,
    Coalesce,  // the second operand where the first reads a parameter that is not active, or what no file tells
    Not,
    Negate,
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    InSet,    // operands: the value, then the elements
    InList,   // operands: the value, a list
    InRange,  // operands: the value, lower, upper (may be null), step (may be null)
    Add,
    Subtract,
    Multiply,
    Divide,
    Variant,  // operands: the payload of `constant`'s level
    Field,    // operands: a record; `parameter` is the part
    Sequence  // operands: the parts of `constant`, a list, tuple or record without any
  };
  Op op = Op::Constant;
  bool geometric = false;    // InRange: the step multiplies
  bool uses_system = false;  // anywhere below
  bool looks_up = false;     // the same
  unsigned parameter = 0;    // Parameter, Metric, System, Lookup
  uint32_t size = 1;         // nodes of the tree, a shared one counted at each use
  Type type;
  source::Range range;
  Value constant;
  std::vector<FormulaPtr> operands;

  bool isConstant() const { return op == Op::Constant; }
};

/// Beyond this many nodes an expression is refused, so that evaluation neither recurses too deep nor takes forever.
inline constexpr uint32_t kMaxFormulaSize = 2000;

/// Indices of the parameters that a formula reads, sorted, each once.
std::vector<unsigned> parametersOf(const Formula& formula);
/// The same of metrics, in the order in which they are first read.
std::vector<unsigned> metricsOf(const Formula& formula);

/// A function of estimates whose value stands in files: `config(model, "hidden_size")`. Its name and types are part of
/// the language; who reads the files is handed in (check::check).
struct LookupFunction {
  std::string_view name;
  std::string_view takes;             // its arguments, for messages
  std::vector<Type::Kind> arguments;  // Error: of any kind
  Type type;                          // of the value
};
const std::vector<LookupFunction>& lookupFunctions();
/// Index into lookupFunctions, or -1.
int findLookup(std::string_view name);
/// The value of such a function in base units; nothing where the files do not tell.
using Lookup = std::function<std::optional<Rational>(std::string_view function, std::span<const Value> arguments)>;

/// What names stand for while a formula is evaluated: one pointer for each parameter, null for an inactive one.
struct Environment {
  const Value* const* parameters = nullptr;
  size_t count = 0;
  const std::vector<std::optional<Value>>* system = nullptr;  // by property; null: no machine
  const Lookup* lookup = nullptr;                             // null, or an empty one: no file is read
};

/// Why there is no value, and where.
struct Failure {
  enum class Kind { Overflow, DivisionByZero, Inactive, NoSystem, NotFound } kind = Kind::Overflow;
  source::Range range;
  unsigned parameter = 0;  // Inactive
};
using Outcome = std::variant<Value, Failure>;

/// The one evaluator of what is known before a run. `and` and `or` stop as soon as they know. The formula must be well
/// typed and read no metric: those are computed from what a trial measured, or a reference publishes, by
/// plan::evaluate.
Outcome evaluate(const Formula& formula, const Environment& environment);

/// Whether a number is one of `lower..upper`, stepped (by a factor if `geometric`); nothing where that cannot be
/// computed.
std::optional<bool> liesInRange(const Rational& value, const Rational& lower, const Rational* upper,
                                const Rational* step, bool geometric);

/// Reports a failure as a diagnostic at its place; `context` becomes a note unless empty.
void reportFailure(const Failure& failure, std::string_view parameter_name, const std::string& context,
                   diag::Emitter& emitter);

/// The values of `lower..upper`, stepped, or nothing after reporting (empty, endless, a step that does not advance,
/// more than `limit` values, overflow).
std::optional<std::vector<Value>> enumerateRange(const Value& lower, const Value* upper, const Value* step,
                                                 bool geometric, source::Range range, size_t limit,
                                                 diag::Emitter& emitter);

/// Calls `visit` for each of 0…`count`-1 once, and after all that `needs` tells for it. A thing that needs itself, by
/// others or alone, is told to `cycle` once for each way round, and then goes before what it needs.
void inOrder(size_t count, llvm::function_ref<void(size_t, llvm::function_ref<void(size_t)>)> needs,
             llvm::function_ref<void(size_t)> visit, llvm::function_ref<void(size_t)> cycle);

}  // namespace expc::check
