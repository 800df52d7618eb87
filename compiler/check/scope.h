#pragma once

// The names that a file declares or imports, and the context of an expression (ExpressionScope), which decides what its
// names can mean: the same word may be a parameter in a rule, a column in a reference and a level in a
// comparison.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/check/model.h"
#include "compiler/check/value/formula.h"
#include "compiler/parse/ast.h"
#include "compiler/parse/load.h"

namespace expc::check {

/// A map by name that can be searched by string_view.
template <typename T>
using NameMap = std::map<std::string, T, std::less<>>;

/// A `let` or unit. Its formula is built when it is first used, so the order of declarations means nothing;
/// Active marks one that is being built, which finds circles.
struct LetEntry {
  enum class State { New, Active, Done };
  const ast::LetDecl* declaration = nullptr;
  State state = State::New;
  FormulaPtr formula = {};
};

/// The names that one file declares or imports. Lives as long as the Program; nodes are referred to by pointer.
struct ModuleScope {
  const load::Module* file = nullptr;
  /// The syntax tree of `file`.
  const ast::Module* ast = nullptr;
  /// Null if the import failed.
  NameMap<ModuleScope*> imports;
  NameMap<const EnumType*> enums;
  NameMap<LetEntry> lets;
  /// For workloads that take all metrics of a module (`metric profiler.*`).
  std::vector<std::pair<const ast::MetricDecl*, Metric>> metrics;
  /// Units that the file declares, as constants: the value of one of the unit.
  NameMap<LetEntry> units;
  NameMap<const Workload*> workloads, services;
};

struct DerivedMetrics;

/// A table whose columns formulas read (a reference's CSV file). Each use of a column becomes a parameter of
/// the formulas, with the type that was asked for at the use.
struct Columns {
  struct Cell {
    size_t column = 0;
    Type type;
  };
  std::vector<std::string> header = {};
  /// Indexed by that parameter.
  std::vector<Cell> cells = {};
};

/// The context of an expression. Pointers may be null unless noted; they must outlive the expression's check.
struct ExpressionScope {
  /// The file's names; never null.
  ModuleScope* module = nullptr;
  /// The parameters in scope; null: none.
  const std::vector<Parameter>* parameters = nullptr;
  /// The lets of the study or the workload.
  NameMap<LetEntry>* lets = nullptr;
  /// The study around it, for better errors.
  const Study* study = nullptr;
  /// Whether `system.gpus` is allowed: in rules only.
  bool system = false;
  /// Whether `config(…)` and the like are allowed: in estimates only.
  bool lookups = false;
  /// The table that `column(…)` reads, if it is allowed.
  Columns* columns = nullptr;
  /// Counts uses of the word `feasible`, if it is allowed.
  unsigned* feasible = nullptr;
  /// For a derived metric: the metrics that it may read.
  DerivedMetrics* metrics = nullptr;
  /// For a default: the parameters of its workload, which a constant cannot read.
  const std::vector<ast::ParamDecl>* siblings = nullptr;
  /// The name of the workload that is being declared, if any.
  source::Range workload = {};
};

/// The scope in which a text of a study finds the names of a file: that of the part in which it stands, else
/// `otherwise`.
ModuleScope& scopeAt(const Study& study, source::Range text, ModuleScope& otherwise);

}  // namespace expc::check
