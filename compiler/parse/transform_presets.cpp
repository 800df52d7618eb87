#include "compiler/parse/transform.h"

namespace expc::parse {

void Transform::read(uint32_t index, ast::PresetDecl& out) {
  for (uint32_t item : statements(child(index, Rule::PresetBody), Rule::PresetItem)) {
    take(item, Rule::OnlyClause, out.only);
    take(item, Rule::CriteriaClause, out.claims);
    take(item, Rule::CriterionDecl, out.criteria);
    // `design { … }` merges into the study's, `design.timed.repeat = 20` sets one thing of it.
    const bool block = child(item, Rule::DesignBody) != kNone;
    if (block) add(item, out.designs);
    if (isRule(item, Rule::Assignment) || (isRule(item, Rule::PresetDesign) && !block))
      out.assignments.push_back(assignment(item));
  }
}

void Transform::read(uint32_t index, ast::OnlyClause& out) {
  out.factor = factorName(child(index, Rule::FactorName));
  out.levels = levels(child(index, Rule::Value));
}

void Transform::read(uint32_t index, ast::CriteriaClause& out) {
  using Which = ast::CriteriaClause::Which;
  out.keep = has(index, Token::Keep);
  out.which = has(index, Token::Star) ? Which::All : has(index, Token::With) ? Which::Confident : Which::Named;
  if (const uint32_t words = child(index, Rule::Words); words != kNone) out.criteria = identifiers(words);
  if (out.keep && out.which == Which::All)
    reporter_.syntaxError(out.range, "'remove criterion *', or the names of criteria to keep");
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
