#include "compiler/parse/transform.h"

namespace expc::parse {

ast::Import Transform::importDecl(uint32_t index) {
  ast::Import out;
  out.range = range(index);
  const uint32_t target = children(index)[1];
  out.target_range = range(target);
  if (isRule(target, Rule::Text))
    out.target = ast::StringLiteral{string(target)};
  else
    out.target = qualifiedName(target);
  if (const uint32_t alias = child(index, Rule::Word); alias != kNone) out.alias = identifier(alias);
  return out;
}

ast::EnumDecl Transform::enumDecl(uint32_t index) {
  checkCommas(index, "the name of a level");
  ast::EnumDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.ordered = has(index, Token::Ordered);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t level : children(index, Rule::EnumLevel)) {
    checkCommas(level, "a type");
    ast::EnumLevel entry;
    entry.name = identifier(child(level, Rule::Word));
    for (uint32_t field : children(level, Rule::EnumField)) entry.fields.push_back(enumField(field));
    out.levels.push_back(std::move(entry));
  }
  return out;
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

ast::LetDecl Transform::letDecl(uint32_t index) {
  const uint32_t value = child(index, Rule::Value);
  return {range(index), doc(index), identifier(child(index, Rule::Word)), value == kNone ? nullptr : expression(value)};
}

ast::SystemDecl Transform::systemDecl(uint32_t index) {
  ast::SystemDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t item : children(child(index, Rule::SystemBody), Rule::SystemItem))
    if (!broken(item) && !broken(node(item).child)) out.properties.push_back(assignment(node(item).child));
  return out;
}

ast::ReferenceDecl Transform::referenceDecl(uint32_t index) {
  ast::ReferenceDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  out.path = textOf(child(index, Rule::Text));
  for (uint32_t item : children(child(index, Rule::ReferenceBody), Rule::ReferenceItem)) {
    if (broken(item)) continue;
    const uint32_t value = child(item, Rule::Sum);
    out.columns.push_back(
        {range(item), doc(item), identifier(child(item, Rule::Word)), value == kNone ? nullptr : expression(value)});
  }
  return out;
}

}  // namespace expc::parse
