#pragma once

// Turns the concrete tree into the syntax tree of ast.h: one file for each group of constructs
// (transform_expressions.cpp, transform_types.cpp, transform_declarations.cpp, transform_workloads.cpp,
// transform_studies.cpp, transform_criteria.cpp, transform_presets.cpp). Statements
// with a syntax error are left out.

#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/parse/cst.h"
#include "compiler/parse/reporter.h"

namespace expc::parse {

/// Deepest expression tree: phases after this one recurse over it.
constexpr int kMaxExpressionDepth = 200;

class Transform {
 public:
  Transform(const source::SourceManager& sources, const Tree& tree, Reporter& reporter)
      : sources_(sources), tree_(tree), reporter_(reporter) {}

  ast::Module module();
  /// Null when the input held no whole expression.
  ast::ExprPtr wholeValue();

 private:
  /// An expression with its depth.
  struct Built {
    ast::ExprPtr expr;
    int depth = 1;
  };

  // ---- the concrete tree (transform.cpp)
  const Node& node(uint32_t index) const { return tree_.nodes[index]; }
  std::vector<uint32_t> children(uint32_t index) const;
  std::vector<uint32_t> children(uint32_t index, Rule rule) const;
  uint32_t child(uint32_t index, Rule rule) const;
  uint32_t child(uint32_t index, Token token) const;
  bool has(uint32_t index, Token token) const { return child(index, token) != kNone; }
  bool isRule(uint32_t index, Rule rule) const { return !node(index).is_token && node(index).rule == rule; }
  bool isToken(uint32_t index, Token token) const { return node(index).is_token && node(index).token == token; }
  source::Range range(uint32_t index) const { return {tree_.file, node(index).begin, node(index).end}; }
  std::string_view text(uint32_t index) const { return sources_.text(range(index)); }
  std::string doc(uint32_t index) const;
  /// Whether something in it could not be read (nested blocks apart, which leave out only what is broken in them).
  bool broken(uint32_t index) const { return node(index).broken; }
  /// In a list in brackets the last comma may be left hanging; two in a row are an error.
  void checkCommas(uint32_t index, std::string_view what);

  // ---- names and literals (transform.cpp)
  ast::Identifier identifier(uint32_t index) const;
  /// A factorName: a word, or the canonical name of a lockstep factor, whose parts go to `parts`.
  ast::Identifier factorName(uint32_t index, std::vector<ast::Identifier>* parts = nullptr);
  std::vector<ast::Identifier> factorNames(uint32_t index);
  std::vector<ast::Identifier> identifiers(uint32_t words) const;
  ast::QualifiedName qualifiedName(uint32_t name) const;
  std::string string(uint32_t text);
  ast::Text textOf(uint32_t text) { return {string(text), range(text)}; }
  /// The name that an expression is, for `name: condition` and `name = value`; reports anything else.
  std::optional<ast::Identifier> asName(const ast::Expr& expr, std::string_view sign);
  void duplicate(uint32_t index, std::string_view what, source::Range first);

  // ---- expressions
  ast::ExprPtr expression(uint32_t index) { return build(index).expr; }
  Built build(uint32_t index);
  Built make(source::Range range, decltype(ast::Expr::node) value, int depth);
  Built binary(ast::BinaryOp op, uint32_t sign, Built left, Built right);
  Built chain(uint32_t index);
  Built comparison(uint32_t index);
  Built rangeOf(source::Range lower_range, Built lower, uint32_t tail);
  Built members(uint32_t index);
  Built negation(uint32_t index, Token sign, ast::UnaryOp op);
  Built postfix(uint32_t index);
  Built primary(uint32_t index);
  Built set(uint32_t index);
  Built group(uint32_t index);
  Built list(uint32_t index);
  std::vector<ast::ExprPtr> values(uint32_t index, int& depth);
  Built refinement(uint32_t index);
  std::vector<ast::CallArgument> arguments(uint32_t index, int& depth);
  ast::NumberLiteral number(uint32_t index) const;

  // ---- declarations
  ast::Import importDecl(uint32_t index);
  ast::EnumDecl enumDecl(uint32_t index);
  ast::EnumField enumField(uint32_t index);
  ast::LetDecl letDecl(uint32_t index);
  ast::WorkloadDecl workloadDecl(uint32_t index);
  void workloadItem(uint32_t index, ast::WorkloadDecl& workload);
  void versionDecl(uint32_t index, ast::WorkloadDecl& workload);
  ast::ParamDecl paramDecl(uint32_t index);
  ast::Command commandClause(uint32_t index);
  ast::CommandArgument commandArgument(uint32_t index);
  void inputsDecl(uint32_t index, ast::WorkloadDecl& workload);
  ast::EstimateDecl estimateDecl(uint32_t index);
  ast::MetricDecl metricDecl(uint32_t index);
  void metricSource(uint32_t index, ast::MetricDecl& metric);
  void metricTrait(uint32_t index, ast::MetricDecl& metric);
  ast::RuleDecl ruleDecl(uint32_t index);
  ast::TypeExpr type(uint32_t index);
  void namedType(uint32_t index, ast::TypeExpr& out);
  void tupleType(uint32_t index, ast::TypeExpr& out);
  void recordType(uint32_t index, ast::TypeExpr& out);
  ast::SystemDecl systemDecl(uint32_t index);
  ast::ReferenceDecl referenceDecl(uint32_t index);

  // ---- studies
  ast::StudyDecl studyDecl(uint32_t index);
  void studyItem(uint32_t index, ast::StudyDecl& study);
  ast::WorkloadUse workloadUse(uint32_t index);
  /// The levels of a factor, of `only`: a list or a record in their place is reported.
  ast::ExprPtr levels(uint32_t value);
  ast::FactorDecl factorDecl(uint32_t index);
  std::optional<ast::CompareDecl> compareDecl(uint32_t index);
  ast::ControlDecl controlDecl(uint32_t index);
  ast::CriterionDecl criterionDecl(uint32_t index);
  ast::Quantifier quantifier(uint32_t index);
  void claim(uint32_t index, ast::CriterionDecl& criterion);
  ast::ConfidenceDecl confidenceDecl(uint32_t index);
  ast::DesignDecl designDecl(uint32_t index);
  void designBody(uint32_t index, ast::DesignDecl& design);
  ast::DesignSetting designSetting(uint32_t index);

  // ---- presets
  ast::PresetDecl presetDecl(uint32_t index);
  void presetItem(uint32_t index, ast::PresetDecl& preset);
  ast::CriteriaClause criteriaClause(uint32_t index);
  void presetDesign(uint32_t index, ast::PresetDecl& preset);
  ast::Assignment assignment(uint32_t index);

  const source::SourceManager& sources_;
  const Tree& tree_;
  Reporter& reporter_;
};

}  // namespace expc::parse
