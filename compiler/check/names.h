#pragma once

// Every name of a program: where it is declared, and where it is used. The checker notes a use where it finds out what
// the name means, so editors need no rules of their own.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/load/load.h"

namespace expc::check {

enum class SymbolKind {
  Module,
  Enum,
  Level,
  Unit,
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
    std::variant<const load::Module*, const ast::EnumDecl*, const ast::EnumLevel*, const ast::LetDecl*,
                 const ast::WorkloadDecl*, const ast::ParamDecl*, const ast::MetricDecl*, const ast::RuleDecl*,
                 const ast::StudyDecl*, const ast::WorkloadUse*, const ast::FactorDecl*, const ast::CompareDecl*,
                 const ast::ControlDecl*, const ast::CriterionDecl*, const ast::PresetDecl*, const ast::SystemDecl*,
                 const ast::ReferenceDecl*>;

/// Something that is called by a name.
struct Symbol {
  SymbolKind kind = SymbolKind::Let;
  std::string name;
  source::Range range;  // of the name where it is declared
  source::Range whole;  // of the declaration
  Declaration declaration;
  std::optional<unsigned> parent = {};  // what it is declared in: a file, an enum, a workload, a study or a preset
  std::optional<unsigned> varies = {};  // of a factor: its parameter
};

/// A name in the text.
struct Occurrence {
  source::Range range;
  unsigned symbol = 0;
  bool declares = false;
};

class Names {
 public:
  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// By file and place, once `settle` was called.
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }

  /// Adds all that a file declares, whether or not the checker takes it.
  void declare(const load::Module& module);
  /// Notes that the name at `range` means what is declared at `declared`.
  void note(source::Range range, source::Range declared);
  void settle();

  /// What is declared by the name that begins at `range`; the beginning of a file stands for the file.
  std::optional<unsigned> declaredAt(source::Range range) const;
  /// What is called `name` and declared inside of `parent`; nothing if nothing is.
  std::optional<unsigned> find(SymbolKind kind, std::string_view name, std::optional<unsigned> parent) const;
  /// The innermost occurrence that holds a byte, or ends there; null if there is none.
  const Occurrence* at(source::FileId file, uint32_t offset) const;
  /// The study that a symbol is declared in, null outside of studies.
  const ast::StudyDecl* studyOf(const Symbol& symbol) const;

 private:
  template <typename Declared>
  unsigned add(SymbolKind kind, const Declared& declared, unsigned parent);
  unsigned add(Symbol symbol);
  void declareWorkload(const ast::WorkloadDecl& workload, unsigned file);
  void declareStudy(const ast::StudyDecl& study, unsigned file);
  void declarePreset(const ast::PresetDecl& preset, unsigned parent);

  std::vector<Symbol> symbols_;
  std::vector<Occurrence> occurrences_;
  std::unordered_map<uint64_t, unsigned> declared_;                          // by where the name begins
  std::map<std::tuple<unsigned, SymbolKind, std::string>, unsigned> named_;  // by what they are declared in
};

}  // namespace expc::check
