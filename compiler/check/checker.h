#pragma once

// Shared types of the parts of check, which select also uses.

#include <set>

#include "compiler/check/expression.h"
#include "compiler/check/program.h"

namespace expc::check {

/// The inputs for building formulas.
struct Context {
  source::SourceManager& sources;
  diag::Emitter& emitter;
  Names* names = nullptr;  // where uses of names are noted; may be null
  Expressions expressions{sources, emitter, names};

  /// Grows where something cannot be used, reported here or where it is declared.
  size_t problems() const { return emitter.errors() + expressions.refusals(); }
};

/// A program while it is checked.
struct Checking : Context {
  Program& program;
  std::set<std::string> used_references = {}, reported_references = {};
};

/// Declares the enums, lets and workloads of one module; those it imports are complete.
void declareModule(Checking& context, ModuleScope& scope);

struct TypeAndRefinement {
  Type type;
  std::optional<Refinement> refinement;
};
/// `int in 1..64`; of type Error after a report.
TypeAndRefinement resolveType(Context& context, const ast::TypeExpr& type, ModuleScope& scope);

/// Checks one study of the root file.
std::unique_ptr<Study> checkStudy(Checking& context, ModuleScope& scope, const ast::StudyDecl& declaration);

/// A subject of a judgement: a metric of the study, or a comparison with the metric that it compares.
struct Subject {
  unsigned metric = 0;
  std::optional<unsigned> comparison;
};

/// The meaning of names inside a study: its declaration, and the places where things were declared.
struct StudyScope {
  Context& context;
  ModuleScope& scope;
  const ast::StudyDecl* declaration;
  const Study& study;
  NameMap<LetEntry> lets = {};
  NameMap<source::Range> declared_references = {};  // all of the file, fitting or not
  std::optional<double> confidence = {};            // of criteria that say nothing of it
  std::set<std::string> not_varied = {};            // what refused factors would have varied
  diag::Emitter& emitter = context.emitter;

  Place place(bool system = false) { return {&scope, &study.workload->parameters, &lets, &study, system}; }
  Expressions& expressions() { return context.expressions; }
  /// Fills `lets` from the declaration.
  void declareLets();
  /// The values of one level, in the order of the factor's parameters; nothing after a report.
  std::optional<std::vector<Value>> levelValues(const ast::Expr& expr, const Factor& factor, std::string_view what);
  /// The levels of `factor` that a set, a range or a single value stands for; nothing after a report.
  std::optional<Expressions::Levels> levels(const ast::Expr& expr, const Factor& factor, std::string_view what);
  /// The declared level of these values; nothing after a report that calls it `label`.
  std::optional<unsigned> levelOf(const std::vector<Value>& values, const Factor& factor, source::Range range,
                                  const std::string& label);
  /// Whether each of the study's workloads takes a value for a parameter; reports the first that does not.
  bool allowed(const Value& value, unsigned parameter, source::Range range, std::string_view what);
  /// The declared level that `expr` is; nothing after a report.
  std::optional<unsigned> level(const ast::Expr& expr, unsigned factor, std::string_view what);
  bool refused(const ast::Identifier& word, std::initializer_list<SymbolKind> kinds) {
    return expressions().refused(word, place(), kinds);
  }
  void note(const ast::Identifier& word, source::Range declared) { expressions().note(word.range, declared); }
  /// Says that a metric or comparison is not known, unless its declaration was refused.
  diag::Refusal unknownSubject(const ast::Identifier& name, std::string_view what);
  /// Index of a factor; nothing after a report that says what the name is instead.
  std::optional<unsigned> factor(const ast::Identifier& name);
  /// The subject that a name means where something is judged or shown; nothing after a report.
  std::optional<Subject> subject(const ast::Identifier& word);
};

/// A study while it is checked.
struct StudyContext : StudyScope {
  Checking& context;
  Study& study;
  bool stray = false;  // an argument or a factor names no parameter: it may be the one that is missing elsewhere
};

/// The workload of a study with several: a parameter `workload` (an enum of the labels) first, then every parameter of
/// any of them, active where one that has it is chosen; the metrics that all have; rules and estimates that hold where
/// theirs is chosen. Sets Use::parameter_of. Null after reporting what does not fit together. Owned by the program.
const Workload* unite(StudyContext& context);

/// `left and right`, either of which may be null (true).
FormulaPtr both(FormulaPtr left, FormulaPtr right);

/// `written` is the limit as it stands in the file.
Bound boundOf(Relation relation, const Rational& limit, std::string_view written);

/// A measured metric, of a command or a built-in workload; nothing after a report.
std::optional<Metric> checkMetric(Context& context, ModuleScope& scope, const ast::MetricDecl& declaration);
/// Where a metric of a command is read, by its own `from` or by `outputs`; none where the runtime sees it from outside.
/// Reports what is wrong with it.
void checkMetricSource(Context& context, ModuleScope& scope, const ast::WorkloadDecl& workload,
                       const ast::MetricDecl& declaration, Metric& metric);
/// Checks `outputs` by itself, once: false after a report.
bool checkOutputsClause(Context& context, ModuleScope& scope, const ast::WorkloadDecl& workload);
/// The expectation of a command's output; nothing after a report.
std::optional<plan::Expectation> checkExpectation(Context& context, ModuleScope& scope,
                                                  const ast::WorkloadDecl& workload, const ast::Expr& expr);
/// The command that a workload is, nothing where it is none: every `${name}` must be one of its parameters or known to
/// the runtime.
std::optional<Command> checkCommand(Context& context, const ast::WorkloadDecl& declaration, const Workload& workload,
                                    ModuleScope& scope);

/// One rule, or nothing after a report.
std::optional<Rule> checkRule(Context& context, const ast::RuleDecl& declaration, Place place);
/// Adds the factors, with that of several workloads first, and refuses conditions that go round in circles.
void checkFactors(StudyContext& context);
/// Reads the references of the file whose names this study has.
void checkReferences(StudyContext& context);
/// Warns of references of the root file that no study took.
void checkReferencesUsed(Checking& context, const ast::Module& module);
/// The machines that a file declares; Program::systems gets them.
void declareSystems(Checking& context, ModuleScope& scope);
/// Reports conditions that stand on a metric, a comparison, …; appends to study.comparisons.
void checkComparisons(StudyContext& context);
/// One criterion of the study or of a preset; nothing after a report.
std::optional<Criterion> checkCriterion(StudyScope& context, const ast::CriterionDecl& declaration);
/// `confidence 95%`; nothing after a report.
std::optional<double> checkConfidence(StudyScope& context, const ast::Expr& expr);
/// A design or the part of one that a preset gives; nothing if there is none or after a report.
std::optional<Design> checkDesign(StudyScope& context, const std::vector<ast::DesignDecl>& designs, bool partial);
/// `design.timed.repeat = 20`: the same settings, by path. With `known_kind` only in a block that is designed already.
bool checkDesignSetting(StudyScope& context, const ast::QualifiedName& path, const ast::Expr& value, bool known_kind,
                        Design& design);
/// That every measured kind has a design with all it needs, and the other way round.
/// `before`: the number of problems when the study began.
void checkDesignCovers(StudyContext& context, size_t before);
/// Metrics of the study: `measure`, then what comparisons, criteria, tables and plots use.
void checkMeasures(StudyContext& context);
void checkOutputs(StudyContext& context);
/// A preset, or an override in the shape of one.
std::optional<Change> checkPreset(StudyScope& context, const ast::PresetDecl& declaration, bool is_override);

}  // namespace expc::check
