#include "compiler/parse/transform.h"

namespace expc::parse {

ast::PresetDecl Transform::presetDecl(uint32_t index) {
  ast::PresetDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t item : children(child(index, Rule::PresetBody), Rule::PresetItem)) {
    const uint32_t inner = node(item).child;
    if (!broken(item) && !broken(inner)) presetItem(inner, out);
  }
  return out;
}

void Transform::presetItem(uint32_t index, ast::PresetDecl& preset) {
  switch (node(index).rule) {
    case Rule::OnlyClause:
      preset.only.push_back(
          {range(index), factorName(child(index, Rule::FactorName)), levels(child(index, Rule::Value))});
      break;
    case Rule::CriteriaClause:
      preset.claims.push_back(criteriaClause(index));
      break;
    case Rule::CriterionDecl:
      add(index, preset.criteria);
      break;
    case Rule::PresetDesign:
      presetDesign(index, preset);
      break;
    case Rule::Assignment:
      preset.assignments.push_back(assignment(index));
      break;
    default:
      break;
  }
}

ast::CriteriaClause Transform::criteriaClause(uint32_t index) {
  using Which = ast::CriteriaClause::Which;
  ast::CriteriaClause out;
  out.range = range(index);
  out.keep = has(index, Token::Keep);
  out.which = has(index, Token::Star) ? Which::All : has(index, Token::With) ? Which::Confident : Which::Named;
  if (const uint32_t words = child(index, Rule::Words); words != kNone) out.criteria = identifiers(words);
  if (out.keep && out.which == Which::All)
    reporter_.syntaxError(out.range, "'remove criterion *', or the names of criteria to keep");
  return out;
}

/// `design { … }`, which merges into the study's, or `design.timed.repeat = 20`.
void Transform::presetDesign(uint32_t index, ast::PresetDecl& preset) {
  const uint32_t body = child(index, Rule::DesignBody);
  if (body == kNone) {
    preset.assignments.push_back(assignment(index));
    return;
  }
  ast::DesignDecl out;
  out.range = range(index);
  if (const uint32_t shape = child(index, Rule::Word); shape != kNone) out.shape = identifier(shape);
  designBody(body, out);
  preset.designs.push_back(std::move(out));
}

/// `index` is an assignment, an assigned or a presetDesign that is one: parts, '=' and a value.
ast::Assignment Transform::assignment(uint32_t index) {
  ast::Assignment out;
  out.range = range(index);
  for (uint32_t part : children(index)) {
    if (isToken(part, Token::Assign)) break;
    if (isToken(part, Token::Dot)) continue;
    out.target.parts.push_back(isRule(part, Rule::FactorName) ? factorName(part) : identifier(part));
  }
  out.target.range = source::join(out.target.parts.front().range, out.target.parts.back().range);
  out.value = expression(child(index, Rule::Value));
  return out;
}

std::vector<ast::Assignment> Transform::wholeAssignments() {
  std::vector<ast::Assignment> out;
  if (tree_.nodes.empty() || broken(0)) return out;
  for (uint32_t one : children(0))
    if (isRule(one, Rule::Assigned) || isRule(one, Rule::Assignment)) out.push_back(assignment(one));
  return out;
}

}  // namespace expc::parse
