#pragma once

// Turns expressions into formulas: names resolved, types and units checked, constants folded. Every part of
// check goes through this class, so a rule of the language about expressions is stated once.
//
// After a mistake the result has the type Error, which agrees with every type and so suppresses consequences.
// The names inside what was refused are still looked up, since editors want to know them.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/model.h"
#include "compiler/check/names.h"
#include "compiler/check/scope.h"
#include "compiler/check/value/formula.h"
#include "compiler/parse/ast.h"
#include "compiler/parse/words.h"

namespace expc::check {

struct Metric;

/// A formula with these fields, nothing computed or checked.
Formula formulaOf(Formula::Op op, Type type, source::Range range, std::vector<FormulaPtr> operands = {},
                  unsigned parameter = 0);
FormulaPtr constantOf(Value value, Type type, source::Range range);

/// The members of a set, or of a list behind `in`, which is one there; null for other expressions.
const std::vector<ast::ExprPtr>* membersOf(const ast::Expr& expr);

/// The single word that an expression consists of, or null.
const ast::Identifier* wordOf(const ast::Expr& expr);

/// A type in words, for "…, not …": "a plain number", "of type Bytes".
std::string describe(const Type& type);

/// The parts of a name from `first` on, with dots between them.
std::string joined(const ast::QualifiedName& name, size_t first = 0);

using source::squeeze;

/// Whether a word makes one number of several: `median`, `p99.9`; also one that Context::reduction refuses, `p101`.
bool isReduction(std::string_view word);

/// Replaces every `what` by `with`. Inserted text is not searched again.
void replaceAll(std::string& text, std::string_view what, std::string_view with);

/// Diagnostics that several files emit; all others stand beside their emit.
EXPC_DIAGNOSTIC(TypeMismatch, "{0} must be {1}, not {2}");
EXPC_DIAGNOSTIC(UnitMismatch, "{0} is {1}, but {2} is {3}");
EXPC_DIAGNOSTIC(NumberTooLarge, "the number {0} cannot be represented exactly");
EXPC_DIAGNOSTIC(NotSupported, "{0} is not supported");
EXPC_DIAGNOSTIC(WhenCycle, "whether '{0}' is active depends on itself");
EXPC_DIAGNOSTIC(NotAValue, "{0} is not a value here");
EXPC_DIAGNOSTIC(NotASeries, "'{0}' is not a series");
EXPC_DIAGNOSTIC(SeriesValue, "'{0}' is a {1}, not one value");
EXPC_DIAGNOSTIC(OutOfRange, "{0} is {1}, but must be {2}");
EXPC_DIAGNOSTIC(NoDirection, "'{0}' does not declare whether lower or higher is better");
EXPC_DIAGNOSTIC(LetCycle, "the {0} '{1}' depends on itself");
EXPC_DIAGNOSTIC(WrongArguments, "'{0}' needs {1}, but has {2}");
EXPC_DIAGNOSTIC(BadInside, "the inside parameter '{0}' {1}");

inline void badInside(diag::Emitter& emitter, source::Range range, const std::string& name, std::string_view why) {
  emitter.emit(range, BadInside, name, why)
      .note("each process goes through the levels of an inside parameter by itself");
}

/// "no argument", "one argument", "2 arguments".
std::string countedArguments(size_t count);

/// Emits SeriesValue: a series or a distribution stands where one value is wanted.
diag::Refusal seriesValue(diag::Emitter& emitter, source::Range range, const Metric& metric);

/// The inputs of a check, and the builder of its formulas. Keeps only counters beside them, so one object serves a
/// whole check.
class Context {
 public:
  /// `names` may be null; if given, uses of names are noted there.
  Context(source::SourceManager& sources, diag::Emitter& emitter, Names* names = nullptr)
      : sources(sources), emitter(emitter), names(names) {}

  source::SourceManager& sources;
  diag::Emitter& emitter;
  /// The index in which uses of names are noted; may be null.
  Names* names;

  /// A count that grows whenever something cannot be used, whether it is reported here or was where it is
  /// declared.
  size_t problems() const { return emitter.errors() + refusals_; }

  /// Builds a formula; never null, of type Error after a report. `expected` gives bare words and strings their
  /// meaning (an enum level, a path). Whether the result agrees with it is left to the caller. An expected type
  /// Error means that the type is unknown: names are looked up, and unknown ones are not reported.
  FormulaPtr build(const ast::Expr& expr, const ExpressionScope& place, const Type* expected = nullptr);

  /// A unit by its name in a file: built in, declared there, or declared in a file that it imports. `refused`
  /// is set if its declaration was refused.
  std::optional<Unit> unit(std::string_view name, ModuleScope& scope, bool* refused = nullptr);

  /// The formula of a `let` or a unit. Builds it at its first use, or when it is declared, so that its mistakes
  /// are reported in any case.
  FormulaPtr let(LetEntry& entry, const ExpressionScope& place);

  /// A boolean formula, or null after a report. `what` names it in messages.
  FormulaPtr condition(const ast::Expr& expr, const ExpressionScope& place, std::string_view what);

  /// A constant of type `expected` that is `allowed`, or nothing after a report. `what` names it: "the baseline".
  std::optional<Value> constant(const ast::Expr& expr, const ExpressionScope& place, const Type& expected,
                                std::string_view what, const std::optional<Refinement>& allowed = std::nullopt);

  /// A constant number of any dimension, or nothing after a report.
  std::optional<Value> number(const ast::Expr& expr, const ExpressionScope& place, std::string_view what);

  /// Levels with their labels, and `declared`: the texts as written, where a range stays one text ("1..4").
  struct Levels {
    std::vector<Level> levels;
    std::vector<std::string> declared;
  };
  /// The levels that a set, a range or a single value stands for; nothing after a report.
  std::optional<Levels> levels(const ast::Expr& expr, const ExpressionScope& place, const Type& expected,
                               std::string_view what);

  /// The scope in which the last part of `name` is declared: that of the module before the dot, or `scope`
  /// itself. Null after a report.
  ModuleScope* scopeOf(const ast::QualifiedName& name, ModuleScope& scope) {
    return name.parts.size() == 1 ? &scope : module(name.parts[0], scope);
  }
  /// The scope of the module that `scope` imports by a name; null after a report.
  ModuleScope* module(const ast::Identifier& word, ModuleScope& scope);

  /// The source text at a place, on one line without comments.
  std::string written(source::Range range) const { return squeeze(sources.text(range)); }

  /// The cell of a column in the table of `place`, as a value of `type`; of type Error after reporting that
  /// there is no such column. `in_quotes`: whether `range` lies inside quotes.
  FormulaPtr cell(const std::string& column, source::Range range, bool in_quotes, const ExpressionScope& place,
                  const Type& type);

  /// The reduction of a call whose callee isReduction(), `p99(latency, skip = 100)`, by its word and its arguments with
  /// names; the one without a name is the caller's. Nothing after a report.
  std::optional<plan::Reduction> reduction(const ast::CallExpr& call, source::Range range,
                                           const ExpressionScope& place);
  /// Takes one of the arguments `skip`, `first` and `last` of the function `word`; false after a report.
  bool selection(const ast::CallArgument& argument, std::string_view word, const ExpressionScope& place,
                 plan::Reduction& made);

  /// Notes what the names in an expression mean when its type is unknown.
  void lookUp(const ast::Expr& expr, const ExpressionScope& place);

  /// Whether a name that was not found was declared all the same, in the study or workload of `place`, and
  /// refused there (which was reported). If so, its use is noted and counted.
  bool refused(const ast::Identifier& word, const ExpressionScope& place, std::initializer_list<SymbolKind> kinds);
  /// Counts a refusal whose cause was reported elsewhere.
  diag::Refusal refuse() {
    ++refusals_;
    return {};
  }

  /// Notes that the name at `range` means the symbol declared at `declared`.
  void note(source::Range range, source::Range declared) {
    if (names) names->note(range, declared);
  }

  /// Whether a number is above zero; reports one that is not. Other values pass.
  bool positive(const Value& value, source::Range range, std::string_view what);

  /// Whether `type` and `refinement` allow a value; reports one that they do not.
  bool allows(const Value& value, source::Range range, const Type& type, const std::optional<Refinement>& refinement,
              std::string_view what);

 private:
  /// Where an expression stands, and the type that is expected there; null if none is.
  struct Site {
    source::Range range;
    const ExpressionScope& place;
    const Type* expected;
  };

  // One function for each kind of expression, in literals, names, calls, operators and composites.
  FormulaPtr literal(const ast::NumberLiteral& literal, const Site& at);
  FormulaPtr text(const ast::StringLiteral& literal, const Site& at);
  FormulaPtr name(const ast::NameExpr& name, const Site& at);
  FormulaPtr qualified(const ast::NameExpr& name, const Site& at);
  FormulaPtr level(const ast::Identifier& word, const EnumType& type);
  /// A call: a level with a payload, or one of the functions below.
  FormulaPtr variant(const ast::CallExpr& call, const Site& at);
  FormulaPtr choose(const ast::CallExpr& call, const Site& at);
  FormulaPtr count(const ast::CallExpr& call, const Site& at);
  FormulaPtr extreme(const ast::CallExpr& call, const Site& at);
  FormulaPtr lookup(const ast::CallExpr& call, const Site& at);
  /// Whether a function is called with positional arguments of the right number (`fits`). Otherwise reports
  /// what the call should have (`number`), or what each argument should be (`each`).
  bool takes(const ast::CallExpr& call, const Site& at, bool fits, std::string_view number, std::string_view each);
  /// Whether a value of the function `word` agrees with the first one, `first`; `type` becomes the type of all.
  bool alike(const Formula& value, const Formula*& first, Type& type, std::string_view word);
  FormulaPtr column(const ast::CallExpr& call, const Site& at);
  /// A metric read by a derived metric; null if no metric has the name. `series`: a series is wanted.
  FormulaPtr metric(const ast::Identifier& word, const ExpressionScope& place, bool series);
  /// A number that a reduction makes of a series; null for a call that is none, such as `max(a, b)`.
  FormulaPtr reduce(const ast::CallExpr& call, const Site& at);
  FormulaPtr epochsTo(const ast::CallExpr& call, const Site& at);
  /// Refuses a function of files outside of estimates.
  FormulaPtr misplacedLookup(std::string_view name, source::Range range);
  /// The value of the `let` of this name among `lets`, at the place of its use; null if there is none.
  FormulaPtr letOf(NameMap<LetEntry>& lets, const ast::Identifier& word, const Site& at);
  /// Whether names are defined by each other in too long a chain; reports it.
  bool tooDeep(source::Range range);
  FormulaPtr unary(const ast::UnaryExpr& unary, const Site& at);
  FormulaPtr binary(const ast::BinaryExpr& binary, const Site& at);
  FormulaPtr coalesce(const ast::BinaryExpr& binary, const Site& at);
  FormulaPtr sequence(const std::vector<ast::ExprPtr>& elements, const Site& at, bool tuple);
  FormulaPtr record(const std::vector<ast::CallArgument>& fields, const Site& at);
  FormulaPtr field(const ast::NameExpr& name, const Site& at);
  FormulaPtr systemProperty(const ast::QualifiedName& name, const Site& at);
  FormulaPtr equality(const ast::BinaryExpr& binary, const Site& at);
  FormulaPtr membership(const ast::BinaryExpr& binary, const Site& at);
  FormulaPtr range(FormulaPtr value, const ast::RangeExpr& range, const Site& at);
  FormulaPtr arithmetic(const ast::BinaryExpr& binary, const Site& at);

  /// `row` as a divisor, if it names no value: one of the unit. Null if there is no such unit.
  FormulaPtr unitBelow(const ast::Expr& expr, const ExpressionScope& place);
  /// Whether an expression has a meaning without an expected type: a parameter, metric or `let`, unlike a bare
  /// level.
  bool namesValue(const ast::Expr& expr, const ExpressionScope& place) const;
  /// Reports an unknown name, with a note on what it is instead.
  void unknown(const ast::Identifier& word, const ExpressionScope& place);
  /// Looks up the names in the arguments of a refused call.
  FormulaPtr refused(const ast::CallExpr& call, const Site& at, diag::Refusal refusal = {});
  /// Whether a formula has this kind of type; reports one that has not. Type Error passes.
  bool want(const Formula& formula, Type::Kind kind, std::string_view what);
  /// The value of a formula that must be constant.
  std::optional<Value> valueOf(const Formula& formula, std::string_view what);
  /// Whether two operands have one type. A constant share next to a plain number becomes a plain number.
  bool agree(FormulaPtr& left, FormulaPtr& right);
  /// A constant share as the plain number that it is, if a plain number is wanted: 5% is 0.05.
  FormulaPtr asNumber(FormulaPtr formula, const Type& wanted);
  /// Whether a value is of a type, by itself or as a part of a composite one; a constant `int` must be whole.
  bool fits(const Formula& formula, const Type& type, std::string_view what);
  /// Reports TypeMismatch, with notes for frequent causes.
  void mismatch(source::Range range, std::string_view what, const Type& expected, const Type& found);

  /// Completes a formula whose operands are set: passes on Error, bounds the size, folds constants.
  FormulaPtr make(Formula formula);
  FormulaPtr make(Formula::Op op, const Type& type, source::Range range, std::vector<FormulaPtr> operands,
                  unsigned parameter = 0) {
    return make(formulaOf(op, type, range, std::move(operands), parameter));
  }
  /// The formula of type Error; the argument shows that the cause was reported.
  FormulaPtr error(diag::Refusal refusal = {});

  // How many lets and metrics are being resolved inside each other.
  unsigned let_depth_ = 0;
  size_t refusals_ = 0;
};

/// The operation of an operator; InSet for both `in` and `not in`.
Formula::Op opOf(ast::BinaryOp op);

/// The metrics that a workload or a study derives from others. Each is declared when something reads it,
/// wherever it stands; while one is declared, its expression finds the others through ExpressionScope::metrics.
struct DerivedMetrics {
  Context& context;
  const std::vector<ast::MetricDecl>& declared;
  /// The measured metrics; gets the derived ones appended.
  std::vector<Metric>& metrics;
  /// The context of the expressions.
  ExpressionScope place;
  std::vector<LetEntry::State> states = std::vector<LetEntry::State>(declared.size());
  /// The index of the one that is being declared.
  size_t current = 0;
  /// The kind of trial of the metrics that it has read so far; all must be of one kind.
  std::optional<TrialKind> kind = {};

  /// Declares every derived metric that is not declared yet.
  void declareAll();
  /// Declares one, and before it those that it reads; reports a circle.
  void declare(size_t index);
  /// Checks one declaration; nothing after a report.
  std::optional<Metric> check(const ast::MetricDecl& declaration);

  /// The index of a metric, declaring it first if need be; nothing if there is none or it was refused.
  std::optional<unsigned> find(std::string_view name);
  /// Whether a metric of this name exists, valid or not.
  bool declares(std::string_view name) const;
  /// Notes that the current metric reads this one; false after reporting that it comes from other trials than
  /// those read before.
  bool use(const Metric& metric, source::Range range);
};

}  // namespace expc::check
