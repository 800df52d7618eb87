#pragma once

// The index of names: where each name of a program is declared, and where it is used. The checker notes a use
// at the moment when it finds out what the name means, so hover, rename and go-to-definition need no rules of
// their own.
//
// A symbol is identified by the place of its declared name. The index is filled from the syntax tree before
// checking, so declarations that the checker refuses are in it too.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/parse/load.h"

namespace expc::check {

/// The kind of a symbol; names are looked up by kind.
enum class SymbolKind {
  Module,
  Enum,
  Level,
  Unit,
  Let,
  Workload,
  Service,
  Parameter,
  Metric,
  Rule,
  Study,
  Part,
  /// The name of one of several workloads in a study.
  Label,
  Factor,
  Comparison,
  Control,
  Criterion,
  Preset,
  System,
  Reference
};
/// The kind in words: "comparison".
std::string_view toString(SymbolKind kind);

/// The node of the syntax tree that declares a symbol.
using Declaration =
    std::variant<const load::Module*, const ast::EnumDecl*, const ast::EnumLevel*, const ast::LetDecl*,
                 const ast::WorkloadDecl*, const ast::ParamDecl*, const ast::MetricDecl*, const ast::RuleDecl*,
                 const ast::StudyDecl*, const ast::PartDecl*, const ast::WorkloadUse*, const ast::FactorDecl*,
                 const ast::CompareDecl*, const ast::ControlDecl*, const ast::CriterionDecl*, const ast::PresetDecl*,
                 const ast::SystemDecl*, const ast::ReferenceDecl*>;

/// A declared name.
struct Symbol {
  SymbolKind kind = SymbolKind::Let;
  std::string name;
  /// The name where it is declared.
  source::Range range;
  /// The whole declaration.
  source::Range whole;
  Declaration declaration;
  /// The symbol in which it is declared: a file, an enum, a workload, a service, a study or a preset.
  std::optional<unsigned> parent = {};
  /// For a factor: the parameter that it varies.
  std::optional<unsigned> varies = {};
};

/// A place in the text where a symbol's name stands.
struct Occurrence {
  source::Range range;
  unsigned symbol = 0;
  bool declares = false;
};

/// The index. Filled by `declare` and `note`, then read after `sort`.
class Names {
 public:
  const std::vector<Symbol>& symbols() const { return symbols_; }
  /// All occurrences, sorted by file and place after `sort`.
  const std::vector<Occurrence>& occurrences() const { return occurrences_; }

  /// Adds everything that a file declares, whether or not the checker accepts it.
  void declare(const load::Module& module);
  /// Notes that the name at `range` means the symbol whose name is declared at `declared`. Ignored if no symbol
  /// is.
  void note(source::Range range, source::Range declared);
  /// Sorts the occurrences and drops repetitions.
  void sort();

  /// The symbol whose declared name begins at `range`. The beginning of a file stands for the file itself.
  std::optional<unsigned> declaredAt(source::Range range) const;
  /// The symbol of this kind and name that is declared directly inside `parent`; nothing if there is none.
  std::optional<unsigned> find(SymbolKind kind, std::string_view name, std::optional<unsigned> parent) const;
  /// The innermost occurrence that contains a byte or ends there (for a cursor behind a word); null if there is
  /// none.
  const Occurrence* at(source::FileId file, uint32_t offset) const;
  /// The study or part inside which a symbol is declared; null outside of them.
  const ast::StudyDecl* studyOf(const Symbol& symbol) const;

 private:
  template <typename Declared>
  unsigned add(SymbolKind kind, const Declared& declared, unsigned parent);
  unsigned add(Symbol symbol);
  template <typename Declared>
  void addAll(SymbolKind kind, const std::vector<Declared>& all, unsigned parent);
  void declareRules(const std::vector<ast::RuleDecl>& rules, unsigned parent);
  /// Adds a workload or a service.
  void declareWorkload(SymbolKind kind, const ast::WorkloadDecl& workload, unsigned file);
  /// Adds the contents of a study or a part.
  void declareStudy(const ast::StudyDecl& study, unsigned parent);
  void declarePreset(const ast::PresetDecl& preset, unsigned parent);

  std::vector<Symbol> symbols_;
  std::vector<Occurrence> occurrences_;
  // Symbols by the place where the declared name begins.
  std::unordered_map<uint64_t, unsigned> declared_;
  // Symbols by parent, kind and name.
  std::map<std::tuple<unsigned, SymbolKind, std::string>, unsigned> named_;
};

}  // namespace expc::check
