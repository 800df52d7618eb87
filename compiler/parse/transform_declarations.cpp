#include "compiler/parse/transform.h"

namespace expc::parse {

void Transform::read(uint32_t index, ast::Import& out) {
  const uint32_t target = children(index)[1];
  out.target_range = range(target);
  if (isRule(target, Rule::Text))
    out.target = ast::StringLiteral{string(target)};
  else
    out.target = qualifiedName(target);
  if (const uint32_t alias = child(index, Rule::Word); alias != kNone) out.alias = identifier(alias);
}

void Transform::read(uint32_t index, ast::EnumDecl& out) {
  checkCommas(index, "the name of a level");
  out.ordered = has(index, Token::Ordered);
  for (uint32_t level : children(index, Rule::EnumLevel)) {
    checkCommas(level, "a type");
    ast::EnumLevel& entry = out.levels.emplace_back();
    entry.name = identifier(child(level, Rule::Word));
    for (uint32_t field : children(level, Rule::EnumField)) entry.fields.push_back(enumField(field));
  }
}

/// `type` or `name : type`; the grammar reads a type in both places.
ast::EnumField Transform::enumField(uint32_t index) {
  const std::vector<uint32_t> types = children(index, Rule::RefinedType);
  ast::EnumField out;
  out.type = std::make_unique<ast::TypeExpr>(type(types.back()));
  if (types.size() == 1) return out;
  const ast::TypeExpr before = type(types[0]);
  if (before.shape == ast::TypeExpr::Shape::Named && before.name.parts.size() == 1 && before.per.empty() &&
      !before.refinement)
    out.name = before.name.parts[0];
  else
    reporter_.syntaxError(before.range, "a single name before ':'");
  return out;
}

/// Also a unit, and what a reference reads.
void Transform::read(uint32_t index, ast::LetDecl& out) {
  out.value = expressionIn(index, isRule(index, Rule::ReferenceItem) ? Rule::Sum : Rule::Value);
}

void Transform::read(uint32_t index, ast::SystemDecl& out) {
  for (uint32_t property : statements(child(index, Rule::SystemBody), Rule::SystemItem))
    out.properties.push_back(assignment(property));
}

void Transform::read(uint32_t index, ast::ReferenceDecl& out) {
  out.path = textOf(child(index, Rule::Text));
  for (uint32_t column : statements(child(index, Rule::ReferenceBody), Rule::ReferenceItem)) add(column, out.columns);
}

}  // namespace expc::parse
