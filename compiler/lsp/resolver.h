#pragma once

// Internal to the index: walks the syntax trees and notes what every name means, one rule for each place of a name.

#include <unordered_map>

#include "compiler/lsp/symbols.h"

namespace expc::lsp {

class Resolver {
 public:
  Resolver(const check::Program& program, const source::SourceManager& sources)
      : program_(program), sources_(sources) {}
  Index build();

 private:
  /// Where an expression stands: whose names it sees.
  struct Place {
    const Scope* scope = nullptr;
    const ast::StudyDecl* study = nullptr;
    const ast::WorkloadDecl* workload = nullptr;  // inside a workload's declaration
    std::vector<FoundWorkload> workloads;         // of the study, or the workload itself
    bool measured = false;                        // metrics and comparisons come first, as in a criterion
  };

  // ---- declaring (resolver.cpp)
  void declareFile(const Scope& scope);
  void declareWorkload(const Scope& scope, const ast::WorkloadDecl& workload);
  void declareStudy(const Scope& scope, const ast::StudyDecl& study);
  unsigned declare(const void* node, Symbol symbol);
  /// Notes that `name` means the thing declared by `node`; false if `node` is null or not known.
  bool use(source::Range range, const void* node);

  // ---- names in declarations (resolver.cpp)
  void resolveFile(const Scope& scope);
  void import(const Scope& scope, const ast::Import& import);
  void type(const Scope& scope, const ast::TypeExpr& type);
  void workload(const Scope& scope, const ast::WorkloadDecl& workload);
  void rule(const ast::RuleDecl& rule, const Place& place);
  bool qualifier(const Scope& scope, const ast::QualifiedName& name);

  // ---- names in studies (resolver_study.cpp)
  void study(const Scope& scope, const ast::StudyDecl& study);
  void workloadUse(const ast::WorkloadUse& use, const Place& place);
  void factor(const ast::FactorDecl& factor, const Place& place);
  void comparison(const ast::CompareDecl& compare, const Place& place);
  void criterion(const ast::CriterionDecl& criterion, const Place& place);
  void design(const ast::DesignDecl& design, const Place& place);
  void preset(const ast::PresetDecl& preset, const Place& place);
  void selectors(const std::vector<ast::CallArgument>& selectors, const Place& place);
  bool factorName(const ast::Identifier& name, const Place& place);
  bool parameterName(const ast::Identifier& name, const Place& place);
  bool subject(const ast::Identifier& name, const Place& place);
  bool metricName(const ast::Identifier& name, const Place& place);
  bool criterionName(const ast::Identifier& name, const Place& place);

  // ---- expressions (resolver_expression.cpp)
  void expression(const ast::Expr* expr, const Place& place, const Expected& expected = {});
  void name(const ast::NameExpr& name, const Place& place, const Expected& expected);
  void call(const ast::CallExpr& call, const Place& place, const Expected& expected);
  void binary(const ast::BinaryExpr& binary, const Place& place, const Expected& expected);
  bool level(const ast::Identifier& word, const Expected& expected);
  /// What values of an expression are, as far as the other side of a comparison wants to know.
  Expected typeOf(const ast::Expr& expr, const Place& place) const;

  const check::Program& program_;
  const source::SourceManager& sources_;
  Index index_;
  std::unordered_map<const void*, unsigned> known_;
};

}  // namespace expc::lsp
