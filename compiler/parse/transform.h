#pragma once

// Turns the concrete tree into the syntax tree of ast.h: one file for each group of constructs
// (transform_expressions.cpp, transform_types.cpp, transform_declarations.cpp, transform_workloads.cpp,
// transform_studies.cpp). Statements with a syntax error are left out.

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
  /// The assignments of the command line; empty when there is something else.
  std::vector<ast::Assignment> wholeAssignments();

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
  /// The statements of a block that were understood: the items themselves, or what each of them consists of.
  std::vector<uint32_t> statements(uint32_t block, Rule item) const;
  /// In a list in brackets the last comma may be left hanging; two in a row are an error.
  void checkCommas(uint32_t index, std::string_view what);

  // ---- names and literals (transform.cpp)
  ast::Identifier identifier(uint32_t index) const;
  /// A factorName: a word, or the canonical name of a lockstep factor, whose parts go to `parts`.
  ast::Identifier factorName(uint32_t index, std::vector<ast::Identifier>* parts = nullptr);
  /// Those that stand in `index`; none where there is no list of them.
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
  /// The expression that is a part of `index`; null where it has none.
  ast::ExprPtr expressionIn(uint32_t index, Rule part);
  Built build(uint32_t index);
  Built make(source::Range range, decltype(ast::Expr::node) value, int depth);
  Built binary(ast::BinaryOp op, uint32_t sign, Built left, Built right);
  static std::optional<ast::BinaryOp> operatorOf(Token token);
  Built chain(uint32_t index);
  Built comparison(uint32_t index);
  Built rangeOf(source::Range lower_range, Built lower, uint32_t tail);
  Built members(uint32_t index);
  Built negated(uint32_t index);
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
  /// Reads a declaration to the end of a list: its place, its comment and its name, where it has them, then its own.
  template <typename T>
  void add(uint32_t index, std::vector<T>& to) {
    T& out = to.emplace_back();
    out.range = range(index);
    if constexpr (requires { out.doc; }) out.doc = doc(index);
    if constexpr (requires { std::string(out.name.name); })
      if (const uint32_t name = child(index, Rule::Word); name != kNone) out.name = identifier(name);
    read(index, out);
  }
  /// Adds a statement to the list of its kind: does nothing if it is another.
  template <typename T>
  void take(uint32_t index, Rule kind, std::vector<T>& to) {
    if (isRule(index, kind)) add(index, to);
  }
  void read(uint32_t index, ast::Import& out);
  void read(uint32_t index, ast::EnumDecl& out);
  void read(uint32_t index, ast::LetDecl& out);
  void read(uint32_t index, ast::SystemDecl& out);
  void read(uint32_t index, ast::ReferenceDecl& out);
  void read(uint32_t index, ast::WorkloadDecl& out);
  void read(uint32_t index, ast::ParamDecl& out);
  void read(uint32_t index, ast::MetricDecl& out);
  void read(uint32_t index, ast::EstimateDecl& out);
  void read(uint32_t index, ast::RuleDecl& out);
  ast::EnumField enumField(uint32_t index);
  void versionDecl(uint32_t index, ast::WorkloadDecl& workload);
  void exitDecl(uint32_t index, ast::WorkloadDecl& workload);
  /// Nothing, and a syntax error, where the number is not whole or more than `most`.
  std::optional<int> wholeNumber(uint32_t literal, int most, const char* wanted);
  void inputsDecl(uint32_t index, ast::WorkloadDecl& workload);
  ast::Command commandClause(uint32_t index);
  ast::CommandArgument commandArgument(uint32_t index);
  void metricSource(uint32_t index, ast::MetricDecl& metric);
  void metricTrait(uint32_t index, ast::MetricDecl& metric);
  ast::TypeExpr type(uint32_t index);
  void namedType(uint32_t index, ast::TypeExpr& out);
  void tupleType(uint32_t index, ast::TypeExpr& out);
  void recordType(uint32_t index, ast::TypeExpr& out);

  // ---- studies
  void read(uint32_t index, ast::StudyDecl& out);
  void read(uint32_t index, ast::WorkloadUse& out);
  void read(uint32_t index, ast::FactorDecl& out);
  void read(uint32_t index, ast::MeasureDecl& out);
  void read(uint32_t index, ast::CompareDecl& out);
  void read(uint32_t index, ast::ControlDecl& out);
  void read(uint32_t index, ast::CriterionDecl& out);
  void read(uint32_t index, ast::Quantifier& out);
  void read(uint32_t index, ast::ConfidenceDecl& out);
  void read(uint32_t index, ast::DesignDecl& out);
  void read(uint32_t index, ast::DesignSetting& out);
  void read(uint32_t index, ast::TableDecl& out);
  void read(uint32_t index, ast::PlotDecl& out);
  /// The levels of a factor, of `only`: a list or a record in their place is reported.
  ast::ExprPtr levels(uint32_t value);
  void claim(uint32_t index, ast::CriterionDecl& criterion);

  // ---- presets
  void read(uint32_t index, ast::PresetDecl& out);
  void read(uint32_t index, ast::OnlyClause& out);
  void read(uint32_t index, ast::CriteriaClause& out);
  ast::Assignment assignment(uint32_t index);

  const source::SourceManager& sources_;
  const Tree& tree_;
  Reporter& reporter_;
};

}  // namespace expc::parse
