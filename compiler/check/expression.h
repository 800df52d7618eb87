#pragma once

// Expressions, and what their names can mean where they stand.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/check/formula/formula.h"
#include "compiler/check/model.h"
#include "compiler/check/names.h"
#include "compiler/check/scope.h"
#include "compiler/language/words.h"

namespace expc::check {

/// A formula as it is written down, nothing computed.
Formula formulaOf(Formula::Op op, Type type, source::Range range, std::vector<FormulaPtr> operands = {},
                  unsigned parameter = 0);
FormulaPtr constantOf(Value value, Type type, source::Range range);

/// The one word that an expression is, or null.
const ast::Identifier* wordOf(const ast::Expr& expr);

/// The parts of a name from `first` on, with dots between.
std::string joined(const ast::QualifiedName& name, size_t first = 0);

using source::squeeze;

/// Puts `with` in the place of every `what`.
void replaceAll(std::string& text, std::string_view what, std::string_view with);

/// Diagnostics that several files of check emit; the others stand beside their emit.
namespace errors {

EXPC_DIAGNOSTIC(TypeMismatch, Error, "{0} must be {1}, not {2}");
EXPC_DIAGNOSTIC(UnitMismatch, Error, "{0} is {1}, but {2} is {3}");
EXPC_DIAGNOSTIC(NumberTooLarge, Error, "the number {0} cannot be held exactly");
EXPC_DIAGNOSTIC(NotSupported, Error, "{0} is not supported");
EXPC_DIAGNOSTIC(NotAValue, Error, "{0} is no value here");
EXPC_DIAGNOSTIC(NotASeries, Error, "'{0}' is no series");
EXPC_DIAGNOSTIC(SeriesValue, Error, "'{0}' is a series, not one value");
EXPC_DIAGNOSTIC(OutOfRange, Error, "{0} is {1}, but must be {2}");
EXPC_DIAGNOSTIC(NoDirection, Error, "whether more of '{0}' is better is not said");
EXPC_DIAGNOSTIC(LetCycle, Error, "the {0} '{1}' depends on itself");
EXPC_DIAGNOSTIC(WrongArguments, Error, "'{0}' needs {1}, but has {2}");

/// "no argument", "one argument", "2 arguments".
std::string arguments(size_t count);

/// Emits SeriesValue: a series where one value is wanted.
diag::Refusal seriesValue(diag::Emitter& emitter, source::Range range, std::string_view name, source::Range declared);

}  // namespace errors

/// Turns expressions into formulas: names resolved, types and units checked, constants folded.
class Expressions {
 public:
  /// Where `names` is given, uses of names are noted there.
  Expressions(const source::SourceManager& sources, diag::Emitter& emitter, Names* names)
      : sources_(sources), emitter_(emitter), names_(names) {}

  /// Never null; of type Error after a report. `expected` gives bare words and string literals their meaning (enum
  /// level, path); that the result agrees with it is checked by the caller.
  FormulaPtr build(const ast::Expr& expr, const Place& place, const Type* expected = nullptr);

  /// A unit as it is called in a file: built in, declared there, or in a file that it imports.
  /// `refused` is set where its declaration was.
  std::optional<Unit> unit(std::string_view name, ModuleScope& scope, bool* refused = nullptr);

  /// The formula of a `let` or a unit. Resolves it if nothing has used it yet, so that its mistakes are reported.
  FormulaPtr let(LetEntry& entry, const Place& place);

  /// A boolean formula, or null after a report.
  FormulaPtr condition(const ast::Expr& expr, const Place& place, std::string_view what);

  /// A constant of type `expected`, or nothing after a report. `what` names it: "the baseline".
  std::optional<Value> constant(const ast::Expr& expr, const Place& place, const Type& expected, std::string_view what);

  /// A constant number of any dimension.
  std::optional<Value> number(const ast::Expr& expr, const Place& place, std::string_view what);

  /// The levels that a set, a range or a single value stands for; nothing after a report. Labels are as written.
  struct Levels {
    std::vector<Level> levels;
    std::vector<std::string> declared;
  };
  std::optional<Levels> levels(const ast::Expr& expr, const Place& place, const Type& expected, std::string_view what);

  /// The names that the last part of `name` is one of: those of the module before the dot, or of `scope` itself. Null
  /// after a report.
  ModuleScope* scopeOf(const ast::QualifiedName& name, ModuleScope& scope) {
    return name.parts.size() == 1 ? &scope : module(name.parts[0], scope);
  }
  /// The module that `scope` imports by a name; null after a report.
  ModuleScope* module(const ast::Identifier& word, ModuleScope& scope);

  /// The source text at a place, on one line without comments.
  std::string written(source::Range range) const { return squeeze(sources_.text(range)); }

  /// The cell of a column of the place, as a value of `type`; of type Error after reporting that there is none.
  /// `in_quotes`: whether `range` lies inside of quotes.
  FormulaPtr cell(const std::string& column, source::Range range, bool in_quotes, const Place& place, const Type& type);

  /// Only notes what the names in an expression mean, where nobody knows what belongs there.
  void lookUp(const ast::Expr& expr, const Place& place);

  /// Whether a name that is not to be found was declared all the same, in the study or the workload of `place`, and
  /// refused there, which was reported. Then its use is noted and counted.
  bool refused(const ast::Identifier& word, const Place& place, std::initializer_list<SymbolKind> kinds);
  size_t refusals() const { return refusals_; }
  /// Counts a refusal whose cause was reported elsewhere.
  diag::Refusal refuse() {
    ++refusals_;
    return {};
  }

  /// Notes that the name at `range` means what is declared at `declared`.
  void note(source::Range range, source::Range declared) {
    if (names_) names_->note(range, declared);
  }

  /// Reports and returns false where a number is not above zero.
  bool positive(const Value& value, source::Range range, std::string_view what);

  /// Reports and returns false where a value is not what `type` and `refinement` allow.
  bool allows(const Value& value, source::Range range, const Type& type, const std::optional<Refinement>& refinement,
              std::string_view what);

 private:
  FormulaPtr literal(const ast::NumberLiteral& literal, source::Range range, const Place& place);
  FormulaPtr text(const ast::StringLiteral& literal, source::Range range, const Place& place, const Type* expected);
  FormulaPtr name(const ast::NameExpr& name, source::Range range, const Place& place, const Type* expected);
  FormulaPtr qualified(const ast::NameExpr& name, source::Range range, const Place& place);
  FormulaPtr level(const ast::Identifier& word, const EnumType& type);
  FormulaPtr variant(const ast::CallExpr& call, source::Range range, const Place& place, const Type* expected);
  FormulaPtr choose(const ast::CallExpr& call, source::Range range, const Place& place, const Type* expected);
  FormulaPtr extreme(const ast::CallExpr& call, source::Range range, const Place& place);
  FormulaPtr lookup(const ast::CallExpr& call, source::Range range, const Place& place);
  /// Whether a function is called as it must be, with values alone; else reports what the call or `each` value is to
  /// be. `fits`: whether it has as many as it takes.
  bool takes(const ast::CallExpr& call, source::Range range, bool fits, std::string_view number, std::string_view each);
  /// Whether a value of the function `word` is like the first one; `type` is what all of them are.
  bool alike(const Formula& value, const Formula*& first, Type& type, std::string_view word);
  FormulaPtr column(const ast::CallExpr& call, source::Range range, const Place& place, const Type* expected);
  /// Null where no metric has the name.
  FormulaPtr metric(const ast::Identifier& word, const Place& place, bool series);
  FormulaPtr epochsTo(const ast::CallExpr& call, source::Range range, const Place& place);
  FormulaPtr misplacedLookup(std::string_view name, source::Range range);
  /// What the one of `lets` that is called so stands for, at the place where it is declared; null where there is none.
  FormulaPtr letOf(NameMap<LetEntry>& lets, const ast::Identifier& word, source::Range range, const Place& place);
  /// Whether names are defined by each other in too long a chain; reports it.
  bool tooDeep(source::Range range);
  FormulaPtr unary(const ast::UnaryExpr& unary, source::Range range, const Place& place);
  FormulaPtr binary(const ast::BinaryExpr& binary, source::Range range, const Place& place);
  FormulaPtr coalesce(const ast::BinaryExpr& binary, source::Range range, const Place& place);
  FormulaPtr sequence(const std::vector<ast::ExprPtr>& elements, source::Range range, const Place& place,
                      const Type* expected, bool tuple);
  FormulaPtr record(const std::vector<ast::CallArgument>& fields, source::Range range, const Place& place,
                    const Type* expected);
  FormulaPtr field(const ast::NameExpr& name, source::Range range, const Place& place);
  FormulaPtr systemProperty(const ast::QualifiedName& name, source::Range range, const Place& place);
  FormulaPtr equality(const ast::BinaryExpr& binary, source::Range range, const Place& place);
  FormulaPtr membership(const ast::BinaryExpr& binary, source::Range range, const Place& place);
  FormulaPtr range(FormulaPtr value, const ast::RangeExpr& range, source::Range where, const Place& place);
  FormulaPtr arithmetic(const ast::BinaryExpr& binary, source::Range range, const Place& place);

  /// `row` below a stroke, where it names no value: one of the unit; null where there is no such unit.
  FormulaPtr unitBelow(const ast::Expr& expr, const Place& place);
  bool namesValue(const ast::Expr& expr, const Place& place) const;
  void unknown(const ast::Identifier& word, const Place& place);
  /// Looks up the names in the arguments of what was refused.
  FormulaPtr refused(const ast::CallExpr& call, const Place& place, diag::Refusal refusal = {});
  bool want(const Formula& formula, Type::Kind kind, std::string_view what);
  /// The value of what must be constant.
  std::optional<Value> valueOf(const Formula& formula, std::string_view what);
  /// Whether two sides are of one type; a constant share becomes the plain number that the other side is.
  bool agree(FormulaPtr& left, FormulaPtr& right);
  /// A constant share as the plain number that it is, where one is wanted: 5% is 0.05.
  FormulaPtr asNumber(FormulaPtr formula, const Type& wanted);
  /// Whether a value is of a type, as a part of one or alone; a constant of type `int` is whole.
  bool fits(const Formula& formula, const Type& type, std::string_view what);
  void mismatch(source::Range range, std::string_view what, const Type& expected, const Type& found);

  /// Completes a formula whose operands are set: spreads errors, bounds the size, folds constants.
  FormulaPtr make(Formula formula);
  FormulaPtr make(Formula::Op op, const Type& type, source::Range range, std::vector<FormulaPtr> operands,
                  unsigned parameter = 0) {
    return make(formulaOf(op, type, range, std::move(operands), parameter));
  }
  /// An expression without a value: it was refused, and that was reported.
  FormulaPtr error(diag::Refusal refusal = {});

  const source::SourceManager& sources_;
  diag::Emitter& emitter_;
  Names* names_;
  unsigned let_depth_ = 0;
  size_t refusals_ = 0;
};

Formula::Op opOf(ast::BinaryOp op);

struct Context;

/// The metrics that a workload or a study derives from others, each declared when something reads it, wherever it
/// stands; while one is declared its expression finds the others here.
struct DerivedMetrics {
  Context& context;
  const std::vector<ast::MetricDecl>& declared;
  std::vector<Metric>& metrics;  // those measured; gets the derived ones
  Place place;                   // of the expressions
  std::vector<LetEntry::State> states = std::vector<LetEntry::State>(declared.size());
  size_t current = 0;                  // the one that is declared
  std::optional<TrialKind> kind = {};  // of what it has read so far

  void declareAll();
  void declare(size_t index);
  std::optional<Metric> check(const ast::MetricDecl& declaration);

  /// Its place among the metrics; nothing where there is none, or one that was refused.
  std::optional<unsigned> find(std::string_view name);
  /// Whether there is one of this name, good or not.
  bool declares(std::string_view name) const;
  /// Notes that the metric which is declared reads this one; false after a report where its trials are others than
  /// those of what was read before.
  bool use(const Metric& metric, source::Range range);
};

}  // namespace expc::check
