#pragma once

// The parts of check, one function for each kind of declaration, and the contexts that they share. Select uses
// the scope of a study too, to resolve texts of the command line.
//
// Conventions: a function that returns an optional or a pointer has reported why if it returns nothing.
// Mistakes are reported once; a use of something that was refused is counted (Context::problems) but not
// reported again.

#include <set>

#include "compiler/check/expression.h"
#include "compiler/check/program.h"

namespace expc::check {

EXPC_DIAGNOSTIC(BadService, "the service '{0}' {1}");

/// A program while it is being checked.
struct Checking : Context {
  Program& program;
  /// Names of references that some study took, and that some report is about.
  std::set<std::string> used_references = {}, reported_references = {};
};

/// Declares the units, enums, lets, metrics and workloads of one module. The modules that it imports must be
/// complete.
void declareModule(Checking& context, ModuleScope& scope);

/// A type with the range or set after `in`, if any.
struct TypeAndRefinement {
  Type type;
  std::optional<Refinement> refinement;
};
/// Resolves a type as it is written, such as `int in 1..64`. The type is Error after a report.
TypeAndRefinement resolveType(Context& context, const ast::TypeExpr& type, ModuleScope& scope);

/// The declaration of a study with the statements of the parts that it uses, each at the place of its `use`; notes
/// these in `study`. It is the declaration itself if the study uses none, else the program owns it.
/// Clears `whole` if a part was not found.
const ast::StudyDecl& withParts(Checking& context, ModuleScope& scope, const ast::StudyDecl& declaration, Study& study,
                                bool& whole);

/// Whether a text of `-D` gives a value to the constant `name`.
bool setsConstant(std::string_view text, std::string_view name);

/// Checks one study of the root file. Never null; `valid` tells whether it is free of errors.
std::unique_ptr<Study> checkStudy(Checking& context, ModuleScope& scope, const ast::StudyDecl& written);

/// The subject of a judgement, table or plot: a metric of the study, or a comparison together with the metric
/// that it compares.
struct Subject {
  unsigned metric = 0;
  std::optional<unsigned> comparison;
};

/// The meaning of names inside a study. All functions report what they refuse.
struct StudyScope {
  Context& context;
  ModuleScope& scope;
  const ast::StudyDecl* declaration;
  const Study& study;
  NameMap<LetEntry> lets = {};
  /// All references of the file, whether or not they fit this study, with their places.
  NameMap<source::Range> declared_references = {};
  /// The confidence of criteria that state none.
  std::optional<double> confidence = {};
  /// Parameters that refused factors would have varied: a use of such a factor is no second mistake.
  std::set<std::string> not_varied = {};
  diag::Emitter& emitter = context.emitter;

  /// The context of an expression inside the study. `system`: it may read the machine.
  ExpressionScope place(bool system = false) { return {&scope, &study.workload->parameters, &lets, &study, system}; }
  // Functions of Context, at this place.
  FormulaPtr condition(const ast::Expr& expr, std::string_view what) { return context.condition(expr, place(), what); }
  std::optional<Value> number(const ast::Expr& expr, std::string_view what) {
    return context.number(expr, place(), what);
  }
  std::optional<Value> constant(const ast::Expr& expr, const Type& expected, std::string_view what,
                                const std::optional<Refinement>& allowed = std::nullopt) {
    return context.constant(expr, place(), expected, what, allowed);
  }
  std::string written(source::Range range) const { return context.written(range); }
  /// The scope of the file in which a text stands: that of a part, else the study's.
  ModuleScope& scopeAt(source::Range range) { return check::scopeAt(study, range, scope); }
  /// Fills `lets` from the declaration: its lets, and its parameters, whose values are checked.
  void declareLets();
  /// The values of one level, in the order of the factor's parameters. `what` names it in messages.
  std::optional<std::vector<Value>> levelValues(const ast::Expr& expr, const Factor& factor, std::string_view what);
  /// The levels that a set, a range or a single value stands for.
  std::optional<Context::Levels> levels(const ast::Expr& expr, const Factor& factor, std::string_view what);
  /// The index of the declared level with these values; `label` names them in a report.
  std::optional<unsigned> levelOf(const std::vector<Value>& values, const Factor& factor, source::Range range,
                                  const std::string& label);
  /// Whether every workload of the study that has a parameter accepts a value for it.
  bool allowed(const Value& value, unsigned parameter, source::Range range, std::string_view what);
  /// The index of the declared level that `expr` denotes.
  std::optional<unsigned> level(const ast::Expr& expr, unsigned factor, std::string_view what);
  /// Finds that index where `name` stands for the factor: it may be a part of a lockstep factor, and `expr` is then
  /// the part's value.
  std::optional<unsigned> levelByPart(const ast::Identifier& name, const ast::Expr& expr, unsigned factor,
                                      std::string_view what);
  /// The indices of the declared levels that a set, a range or a single value stands for, ascending. `name` stands for
  /// the factor: it may be a part of a lockstep factor, and `expr` then has values of the part.
  std::optional<std::vector<unsigned>> levelsByPart(const ast::Identifier& name, const ast::Expr& expr, unsigned factor,
                                                    std::string_view what);
  /// Context::refused for names of this study.
  bool refused(const ast::Identifier& word, std::initializer_list<SymbolKind> kinds) {
    return context.refused(word, place(), kinds);
  }
  void note(const ast::Identifier& word, source::Range declared) { context.note(word.range, declared); }
  /// Reports that a metric or comparison is unknown, unless its declaration was refused.
  diag::Refusal unknownSubject(const ast::Identifier& name, std::string_view what);
  /// The index of a factor. The report says what the name is instead, if anything.
  std::optional<unsigned> factor(const ast::Identifier& name);
  /// The metric or comparison of this name.
  std::optional<Subject> subject(const ast::Identifier& word);
};

/// A study while it is being checked.
struct StudyContext : StudyScope {
  Checking& context;
  Study& study;
  /// An argument or a factor names no parameter. It may be a misspelt one, so parameters without a value are
  /// not reported.
  bool stray = false;
};

/// Fills study.constants.
void checkConstants(StudyContext& context);

/// The union of the workloads of a study with several. It has a parameter `workload` (an enum of their labels)
/// first, then every parameter of any of them, active where a workload that has it is chosen; the metrics that
/// all have; rules and estimates that hold where theirs is chosen. Sets Use::parameter_of. Null after reporting
/// what does not fit together. Owned by the program.
const Workload* unite(StudyContext& context);

/// A formula with the indices of its parameters (or metrics) replaced by `to`; null if one of them is left out (-1).
FormulaPtr remap(const FormulaPtr& formula, Formula::Op leaf, const std::vector<int>& to);
/// Whether two parameters of one name can be one: their types agree. Reports at `at` that they differ in `first` and
/// `second`.
bool sameParameter(diag::Emitter& emitter, source::Range at, const Parameter& known, const Parameter& other,
                   std::string_view first, std::string_view second);

/// `left OP right`, a condition, without type checks or folding: both sides were checked before.
FormulaPtr combine(Formula::Op op, const FormulaPtr& left, const FormulaPtr& right);
/// `left and right`; either may be null and then means true.
FormulaPtr both(FormulaPtr left, FormulaPtr right);

/// A bound of a plan; `written` is the limit as it stands in the file.
Bound boundOf(Relation relation, const Rational& limit, std::string_view written);

/// A workload or service while it is being declared.
struct WorkloadScope {
  Checking& context;
  ModuleScope& scope;
  const ast::WorkloadDecl& declaration;
  bool service;
  Workload& workload;
  NameMap<LetEntry> lets = {};
  diag::Emitter& emitter = context.emitter;

  /// The context of an expression inside it.
  ExpressionScope place() {
    ExpressionScope place{&scope, &workload.parameters, &lets};
    place.workload = workload.range;
    return place;
  }
};

/// Checks a measured metric, of a command or a built-in workload.
std::optional<Metric> checkMetric(Context& context, ModuleScope& scope, const ast::MetricDecl& declaration);
/// Determines where a command's metric is read: by its own `from`, by that of `metric module.*` (`all`), or by
/// `outputs`. None for a metric that the runtime observes from outside (wall time, memory). False after a report.
/// `scope`: that of the file that declares the metric.
bool checkMetricSource(WorkloadScope& of, ModuleScope& scope, const ast::MetricDecl& declaration, Metric& metric,
                       const ast::Expr* all = nullptr);
/// The metrics that a workload declares. One that is read `from wall`, which every command has, is derived from that
/// metric, which is then among them.
std::vector<ast::MetricDecl> withSeen(const ast::WorkloadDecl& workload);
/// Determines where rows of a command's output name the levels of an inside parameter. Nothing after a report.
std::optional<plan::CommandMetric> checkInside(WorkloadScope& of, const ast::ParamDecl& declaration);
/// Marks a metric that stands in the rows of the workload's inside parameters; others are of the process.
void takeRows(const Workload& of, Metric& metric);
/// Checks a source of many metrics (`outputs`, `metric module.* from`) by itself, so that a mistake in it is reported
/// once instead of for each metric.
bool checkOutputsClause(WorkloadScope& of, const ast::Expr& source);
/// Checks one `expect` of a command.
std::optional<plan::Expectation> checkExpectation(WorkloadScope& of, const ast::Expr& expr);
/// Checks the command of a workload; nothing if it has none. Every `${name}` must be one of its parameters or
/// lets, or a value that the runtime fills in.
std::optional<Command> checkCommand(WorkloadScope& of);

/// A time limit in seconds; nothing if there is none, or after a report.
std::optional<double> checkTimeout(Context& context, ModuleScope& scope, const ast::ExprPtr& expr);

// Services (service.cpp). What a service declares is brought into each workload that names it.

/// Sets the services that a workload names. Reports unknown and repeated names.
void findServices(WorkloadScope& of);
/// The service of a workload that its arguments call `name`; null if there is none.
const Workload* findService(const Workload& workload, std::string_view name);
/// Adds the parameters of the workload's services, before its own.
void bringParameters(WorkloadScope& of);
/// Joins a parameter that the workload declares itself with that of a service; false if no service has it. `brought`:
/// names from services that are not joined yet.
bool mergeOwn(WorkloadScope& of, Parameter& own, std::set<std::string>& brought);
/// Sets the conditions of these parameters, by their indices now.
void bringActivity(WorkloadScope& of);
void bringMetricsAndRules(WorkloadScope& of);
/// Adds the commands of the workload's services to its own, with their inputs, preparation and computed arguments.
void bringCommands(WorkloadScope& of, Command& command);
/// Whether a metric is one that a service yields; reports any other.
bool checkServiceMetric(WorkloadScope& of, const ast::MetricDecl& declaration, const Metric& metric);
/// Checks `ready`; nothing after a report.
std::optional<plan::Ready> checkReady(WorkloadScope& of);
/// Whether an argument of a service holds its port.
bool tellsPort(const plan::Command& command);

/// Warns of criteria that cannot both pass, and of claims that their own bounds settle.
void lintClaims(const Study& study, diag::Emitter& emitter);

/// Checks one rule of a workload or a study.
std::optional<Rule> checkRule(Context& context, const ast::RuleDecl& declaration, ExpressionScope place);
/// Adds the factors, the choice between several workloads first, and refuses activities that depend on
/// themselves.
void checkFactors(StudyContext& context);
/// Reads the references of the file whose names this study has, and those of other files that a criterion asks
/// for.
void checkReferences(StudyContext& context);
/// Returns the weight of an aggregate's parts from a column of a reference (`weight = traffic.hits`), 0 where no row
/// has one; null after a reported error. Nothing: the expression names no reference.
std::optional<FormulaPtr> weightOf(StudyContext& context, const ast::Expr& expr);
/// Warns of references of the root file that no study took.
void checkReferencesUsed(Checking& context, const ast::Module& module);
/// Adds the machines that a file declares to Program::systems.
void declareSystems(Checking& context, ModuleScope& scope);
/// Reports that values of a comparison have no level of a factor, since it or one inside it aggregates over that.
diag::Refusal goneFactor(StudyScope& context, const Comparison& comparison, unsigned factor, source::Range range);
/// Appends to study.comparisons, each after the one that it compares again.
void checkComparisons(StudyContext& context);
/// Checks one criterion of the study or of a preset.
std::optional<Criterion> checkCriterion(StudyScope& context, const ast::CriterionDecl& declaration);
/// The value of `confidence 95%`, between 0.5 and 1.
std::optional<double> checkConfidence(StudyScope& context, const ast::Expr& expr);
/// Checks a study's design, or (`partial`) the settings that a preset gives. Nothing if there is none, or after
/// a report.
std::optional<Design> checkDesign(StudyScope& context, const std::vector<ast::DesignDecl>& designs, bool partial);
/// Checks `design.timed.repeat = 20` and adds it to `design`. With `known_kind` (an override) the kind of trial
/// must be designed already.
bool checkDesignSetting(StudyScope& context, const ast::QualifiedName& path, const ast::Expr& value, bool known_kind,
                        Design& design);
/// Checks that every measured kind of trial has a design with all required settings, and the other way round.
/// `before`: the number of problems when the study began; warnings are left out if there were more.
void checkDesignCovers(StudyContext& context, size_t before);
/// Collects the metrics of the study: those of `measure`, then those that comparisons, tables and plots read.
void checkMeasures(StudyContext& context);
/// Checks what is expected of criteria and their subjects.
void checkExpected(StudyContext& context);
/// Checks tables and plots.
void checkOutputs(StudyContext& context);
/// Checks a preset, or an override in the form of one.
std::optional<Change> checkPreset(StudyScope& context, const ast::PresetDecl& declaration, bool is_override);

}  // namespace expc::check
