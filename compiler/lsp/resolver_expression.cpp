// The names in expressions.

#include "compiler/lsp/resolver.h"

namespace expc::lsp {

void Resolver::expression(const ast::Expr* expr, const Place& place, const Expected& expected) {
  if (!expr) return;
  const auto each = [&](const std::vector<ast::ExprPtr>& all) {
    for (const ast::ExprPtr& element : all) expression(element.get(), place, expected);
  };
  const auto parts = [&](const std::vector<ast::ExprPtr>& all) {
    // In lockstep each part has its own type; a list, or a tuple in brackets, passes its own on.
    for (size_t at = 0; at < all.size(); ++at) {
      const bool own = at < expected.parts.size();
      expression(all[at].get(), place, own ? expected.parts[at] : expected);
    }
  };
  if (const auto* node = std::get_if<ast::NameExpr>(&expr->node)) {
    name(*node, place, expected);
  } else if (const auto* node = std::get_if<ast::CallExpr>(&expr->node)) {
    call(*node, place, expected);
  } else if (const auto* node = std::get_if<ast::IndexExpr>(&expr->node)) {
    expression(node->base.get(), place);
    selectors(node->selectors, place);
  } else if (const auto* node = std::get_if<ast::UnaryExpr>(&expr->node)) {
    expression(node->operand.get(), place, expected);
  } else if (const auto* node = std::get_if<ast::BinaryExpr>(&expr->node)) {
    binary(*node, place, expected);
  } else if (const auto* node = std::get_if<ast::SetExpr>(&expr->node)) {
    each(node->elements);
  } else if (const auto* node = std::get_if<ast::RangeExpr>(&expr->node)) {
    expression(node->lower.get(), place, expected);
    expression(node->upper.get(), place, expected);
    expression(node->step.get(), place);
  } else if (const auto* node = std::get_if<ast::TupleExpr>(&expr->node)) {
    parts(node->elements);
  } else if (const auto* node = std::get_if<ast::ListExpr>(&expr->node)) {
    each(node->elements);
  } else if (const auto* node = std::get_if<ast::RecordExpr>(&expr->node)) {
    for (const ast::CallArgument& field : node->fields) expression(field.value.get(), place);
  }
}

bool Resolver::level(const ast::Identifier& word, const Expected& expected) {
  if (expected.labels) {
    for (const ast::WorkloadUse& use : expected.labels->workloads)
      if (use.label && use.label->name == word.name) return this->use(word.range, &use);
    return false;
  }
  const ast::EnumDecl* enumeration = expected.enumeration();
  return enumeration && use(word.range, findNamed(enumeration->levels, word.name));
}

void Resolver::name(const ast::NameExpr& name, const Place& place, const Expected& expected) {
  const auto& parts = name.name.parts;
  if (parts.empty()) return;
  const ast::Identifier& word = parts[0];
  if (parts.size() == 2) {
    const Scope* where = scopeOf(*place.scope, name.name);
    if (!where) return;
    qualifier(*place.scope, name.name);
    if (!where->ast || use(parts[1].range, findNamed(where->ast->lets, parts[1].name))) return;
    use(parts[1].range, findNamed(where->ast->workloads, parts[1].name));
    return;
  }
  // In a place of enum type a bare word is a level and nothing else.
  if (expected.labels || expected.enumeration()) {
    level(word, expected);
    return;
  }
  if (place.measured && subject(word, place)) return;
  if (factorName(word, place) || parameterName(word, place)) return;
  if (place.study && use(word.range, findNamed(place.study->lets, word.name))) return;
  if (place.workload && use(word.range, findNamed(place.workload->lets, word.name))) return;
  if (use(word.range, findNamed(place.scope->ast->lets, word.name))) return;
  subject(word, place);
}

void Resolver::call(const ast::CallExpr& call, const Place& place, const Expected& expected) {
  const Scope* where = nullptr;
  const ast::EnumDecl* enumeration = call.callee.parts.size() == 1 ? expected.enumeration(&where) : nullptr;
  const ast::EnumLevel* variant = enumeration ? findNamed(enumeration->levels, call.callee.parts[0].name) : nullptr;
  if (variant) {
    use(call.callee.parts[0].range, variant);
    for (size_t at = 0; at < call.arguments.size(); ++at) {
      Expected field;
      if (at < variant->fields.size()) {
        field.type = variant->fields[at].type.get();
        field.scope = where;
      }
      expression(call.arguments[at].value.get(), place, field);
    }
    return;
  }
  for (const ast::CallArgument& argument : call.arguments) expression(argument.value.get(), place);
}

void Resolver::binary(const ast::BinaryExpr& binary, const Place& place, const Expected& expected) {
  using Op = ast::BinaryOp;
  switch (binary.op) {
    case Op::Equal:
    case Op::NotEqual:
    case Op::Less:
    case Op::LessEqual:
    case Op::Greater:
    case Op::GreaterEqual: {
      // Each side may give the other its type.
      const Expected left = typeOf(*binary.left, place);
      const Expected right = typeOf(*binary.right, place);
      const bool of_left = left.labels || left.enumeration();
      expression(binary.left.get(), place, of_left ? Expected{} : right);
      expression(binary.right.get(), place, left);
      return;
    }
    case Op::In:
    case Op::NotIn:
      expression(binary.left.get(), place);
      expression(binary.right.get(), place, typeOf(*binary.left, place));
      return;
    case Op::Coalesce:
      expression(binary.left.get(), place);
      expression(binary.right.get(), place, expected.type || expected.labels ? expected : typeOf(*binary.left, place));
      return;
    default:
      expression(binary.left.get(), place);
      expression(binary.right.get(), place);
  }
}

Expected Resolver::typeOf(const ast::Expr& expr, const Place& place) const {
  if (const auto* binary = std::get_if<ast::BinaryExpr>(&expr.node))
    return binary->op == ast::BinaryOp::Coalesce ? typeOf(*binary->left, place) : Expected{};
  if (const auto* tuple = std::get_if<ast::TupleExpr>(&expr.node)) {
    if (tuple->elements.size() == 1) return typeOf(*tuple->elements[0], place);
    Expected expected;
    for (const ast::ExprPtr& element : tuple->elements) expected.parts.push_back(typeOf(*element, place));
    return expected;
  }
  const auto* name = std::get_if<ast::NameExpr>(&expr.node);
  if (!name || name->name.parts.size() != 1) return {};
  const std::string& word = name->name.parts[0].name;
  if (place.study) return expectedOf(*place.scope, *place.study, place.workloads, word);
  Expected expected;
  if (const FoundParameter found = findParameter(place.workloads, word); found.declaration) {
    expected.type = &found.declaration->type;
    expected.scope = found.scope;
  }
  return expected;
}

}  // namespace expc::lsp
