#pragma once

// Which name in the text means which declaration. Built from the syntax trees of a program: names are resolved here by
// the same rules as in compiler/check, but also in files with mistakes, and with nothing thrown away.

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/check/scope.h"

namespace expc::lsp {

using Scope = check::ModuleScope;

enum class SymbolKind {
  Module,
  Enum,
  Level,
  Let,
  Workload,
  Parameter,
  Metric,
  Rule,
  Study,
  Label,  // of one of several workloads in a study
  Factor,
  Comparison,
  Control,
  Criterion,
  Preset,
  System,
  Reference
};
/// "comparison", for people.
std::string_view toString(SymbolKind kind);

using Declaration =
    std::variant<const Scope*, const ast::EnumDecl*, const ast::EnumLevel*, const ast::LetDecl*,
                 const ast::WorkloadDecl*, const ast::ParamDecl*, const ast::MetricDecl*, const ast::RuleDecl*,
                 const ast::StudyDecl*, const ast::WorkloadUse*, const ast::FactorDecl*, const ast::CompareDecl*,
                 const ast::ControlDecl*, const ast::CriterionDecl*, const ast::PresetDecl*, const ast::SystemDecl*,
                 const ast::ReferenceDecl*>;

struct Symbol {
  SymbolKind kind = SymbolKind::Let;
  std::string name;
  source::Range name_range;
  Declaration declaration;
  const Scope* scope = nullptr;           // the file that it is declared in
  const ast::StudyDecl* study = nullptr;  // the study that it is declared in
  std::optional<unsigned> owner = {};     // of a level its enum; of a workload's part its workload
  std::optional<unsigned> of = {};        // what a factor varies: a parameter
};

struct Use {
  source::Range range;
  unsigned symbol = 0;
  bool declares = false;
};

class Index {
 public:
  std::vector<Symbol> symbols;
  std::vector<Use> uses;  // by file and place

  /// The use whose name holds the byte `offset`, or ends there; null if there is none.
  const Use* at(source::FileId file, uint32_t offset) const;
};

Index buildIndex(const check::Program& program, const source::SourceManager& sources);

// ---- looking names up ----------------------------------------------------------------------------------------------

/// What a value in some place may be.
struct Expected {
  const ast::TypeExpr* type = nullptr;
  const Scope* scope = nullptr;            // the file that `type` is written in
  const ast::StudyDecl* labels = nullptr;  // a label of this study's workloads
  std::vector<Expected> parts;             // of a lockstep factor

  /// The enum that it is, with its file; null for other types.
  const ast::EnumDecl* enumeration(const Scope** where = nullptr) const;
};

template <typename Declared>
const Declared* findNamed(const std::vector<Declared>& all, std::string_view name) {
  for (const Declared& declared : all)
    if (declared.name.name == name) return &declared;
  return nullptr;
}

/// The file that a name's qualifier names (`image.…`), or `scope` itself; null if unknown.
const Scope* scopeOf(const Scope& scope, const ast::QualifiedName& name);

/// The name that an import gives its module.
std::string boundName(const ast::Import& import);

struct FoundWorkload {
  const ast::WorkloadDecl* declaration = nullptr;
  const Scope* scope = nullptr;
};
FoundWorkload findWorkload(const Scope& scope, const ast::QualifiedName& name);
/// The metrics that a workload declares or takes from a module.
std::vector<const ast::MetricDecl*> metricsOf(const FoundWorkload& workload);
/// The workloads that a study names, without those that are unknown.
std::vector<FoundWorkload> workloadsOf(const Scope& scope, const ast::StudyDecl& study);

struct FoundParameter {
  const ast::ParamDecl* declaration = nullptr;
  const Scope* scope = nullptr;
};
FoundParameter findParameter(const std::vector<FoundWorkload>& workloads, std::string_view name);

/// What values of a factor or parameter of a study may be: `precision`, `workload`, `(loader, layout)`.
Expected expectedOf(const Scope& scope, const ast::StudyDecl& study, const std::vector<FoundWorkload>& workloads,
                    std::string_view name);

/// The parts of "(loader, layout)"; empty for a simple name.
std::vector<std::string> lockstepParts(std::string_view name);

}  // namespace expc::lsp
