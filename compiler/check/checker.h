#pragma once

// Internal to check: what its parts share.

#include "compiler/check/check.h"
#include "compiler/check/errors.h"
#include "compiler/check/expression.h"
#include "compiler/check/scope.h"

namespace expc::check {

struct Context {
  source::SourceManager& sources;
  diag::Emitter& emitter;
  Program& program;
  Expressions expressions{sources, emitter};
};

/// Loads what `root` imports, recursively; scopes are made, with imports bound (null where one failed). Imported
/// modules come before their importers in Program::scopes. False where a file has syntax errors.
bool loadModules(Context& context, source::FileId root, const FileSystem& files);

ModuleScope& rootScope(Program& program);

/// Declares the enums, lets and workloads of one module; those it imports are complete.
void declareModule(Context& context, ModuleScope& scope);

struct TypeAndRefinement {
  Type type;
  std::optional<Refinement> refinement;
};
/// `int in 1..64`; of type Error after a report.
TypeAndRefinement resolveType(Context& context, const ast::TypeExpr& type, ModuleScope& scope);

/// Checks one study of the root file.
std::unique_ptr<Study> checkStudy(Context& context, ModuleScope& scope, const ast::StudyDecl& declaration);

/// A study while it is checked: the declaration, its place for expressions, and where things were declared.
struct StudyContext {
  Context& context;
  ModuleScope& scope;
  const ast::StudyDecl* declaration;
  Study& study;
  NameMap<LetEntry> lets;
  NameMap<source::Range> criterion_ranges;

  Place place(bool system = false) { return {&scope, &study.workload->parameters, &lets, &study, system}; }
  diag::Emitter& emitter() { return context.emitter; }
  Expressions& expressions() { return context.expressions; }
  /// Names of the factors, comparisons or metrics, for suggestions.
  std::vector<std::string> factorNames() const;
  std::vector<std::string> subjectNames() const;
  /// Index of a factor, or -1 after a report that says what the name is instead.
  int factor(const ast::Identifier& name);
};

/// One rule, or nothing after a report.
std::optional<Rule> checkRule(Context& context, const ast::RuleDecl& declaration, Place place);
/// Reports conditions that stand on a metric, a comparison, …; appends to study.comparisons.
void checkComparisons(StudyContext& context);
/// One criterion of the study or of a preset; nothing after a report.
std::optional<Criterion> checkCriterion(StudyContext& context, const ast::CriterionDecl& declaration);
/// A design or the part of one that a preset gives; nothing if there is none or after a report.
std::optional<Design> checkDesign(StudyContext& context, const std::vector<ast::DesignDecl>& designs, bool partial);
/// `design.timed.repeat = 20`: the same settings, by path. With `known_kind` only in a block that is designed already.
bool checkDesignSetting(StudyContext& context, const ast::QualifiedName& path, const ast::Expr& value, bool known_kind,
                        Design& design);
/// That every measured kind has a design with all it needs, and the other way round.
void checkDesignCovers(StudyContext& context);
/// Metrics of the study: `measure`, then what comparisons, criteria, tables and plots use.
void checkMeasures(StudyContext& context);
void checkOutputs(StudyContext& context);
/// A preset, or an override in the shape of one.
std::optional<Change> checkPreset(StudyContext& context, const ast::PresetDecl& declaration, bool is_override);

}  // namespace expc::check
