#pragma once

// The names that a file declares or imports, and what names can mean where an expression stands.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/check/formula/formula.h"
#include "compiler/check/model.h"
#include "compiler/load/load.h"

namespace expc::check {

template <typename T>
using NameMap = std::map<std::string, T, std::less<>>;

/// A `let`, resolved when it is first used.
struct LetEntry {
  enum class State { New, Active, Done };
  const ast::LetDecl* declaration = nullptr;
  State state = State::New;
  FormulaPtr formula = {};
};

/// The names that one file declares or imports.
struct ModuleScope {
  const load::Module* file = nullptr;
  const ast::Module* ast = nullptr;  // of `file`
  NameMap<ModuleScope*> imports;
  NameMap<const EnumType*> enums;
  NameMap<LetEntry> lets;
  std::vector<std::pair<const ast::MetricDecl*, Metric>> metrics;  // for workloads that take them all
  NameMap<LetEntry> units;                                         // as constants: one of the unit
  NameMap<const Workload*> workloads;
};

struct DerivedMetrics;

/// A table whose columns formulas read: as their parameters, each by the type that it was asked for.
struct Columns {
  struct Cell {
    size_t column = 0;
    Type type;
  };
  std::vector<std::string> header = {};
  std::vector<Cell> cells = {};  // by parameter of the formulas
};

/// The place of an expression, which decides what its names can mean.
struct Place {
  ModuleScope* module = nullptr;
  const std::vector<Parameter>* parameters = nullptr;  // null: none in sight
  NameMap<LetEntry>* lets = nullptr;                   // of the study or the workload; may be null
  const Study* study = nullptr;                        // for better errors
  bool system = false;                                 // `system.gpus` may be written
  bool lookups = false;                                // `config(…)` may be written (formula.h)
  Columns* columns = nullptr;                          // `column(…)` may be written, of these
  unsigned* feasible = nullptr;                        // `feasible` may be written: how often it was
  DerivedMetrics* metrics = nullptr;                   // of a derived metric: those it may read
  source::Range workload = {};                         // the name of the one that is being declared
};

}  // namespace expc::check
