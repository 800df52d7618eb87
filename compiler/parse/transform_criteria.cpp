#include "compiler/parse/transform.h"

namespace expc::parse {

ast::CriterionDecl Transform::criterionDecl(uint32_t index) {
  ast::CriterionDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t part : children(index, Rule::Quantifier)) out.quantifiers.push_back(quantifier(part));
  claim(child(index, Rule::Claim), out);
  if (const uint32_t confidence = child(index, Rule::Sum); confidence != kNone) out.confidence = expression(confidence);
  if (const uint32_t always = child(index, Token::Always); always != kNone) out.always = range(always);
  return out;
}

ast::ConfidenceDecl Transform::confidenceDecl(uint32_t index) {
  return {range(index), expression(child(index, Rule::Sum))};
}

ast::Quantifier Transform::quantifier(uint32_t index) {
  ast::Quantifier out;
  out.range = range(index);
  out.kind = has(index, Token::ForAll) ? ast::QuantifierKind::ForAll : ast::QuantifierKind::Exists;
  out.all = has(index, Token::Star);
  if (const uint32_t names = child(index, Rule::FactorNames); names != kNone) out.factors = factorNames(names);
  if (const uint32_t where = child(index, Rule::Condition); where != kNone) out.where = expression(where);
  if (out.all || !out.factors.empty()) return out;
  out.all = true;  // `forall where COND`
  if (!out.where)
    reporter_.syntaxError(out.range, fmt::format("the names of factors, '*' or 'where' after '{}'", text(index)));
  return out;
}

void Transform::claim(uint32_t index, ast::CriterionDecl& criterion) {
  const std::vector<uint32_t> sums = children(index, Rule::Sum);
  criterion.claim_range = range(index);
  criterion.infeasible = sums.empty();
  if (criterion.infeasible) return;
  criterion.subject = expression(sums[0]);
  if (const uint32_t reference = child(index, Rule::Name); reference != kNone) {
    criterion.like = qualifiedName(reference);
    if (sums.size() == 2) criterion.like_within = expression(sums[1]);
    return;
  }
  if (sums.size() > 2) {
    criterion.band_low = expression(sums[1]);
    criterion.band_high = expression(sums[2]);
    if (sums.size() == 4) criterion.give = expression(sums[3]);
    return;
  }
  criterion.bound = expression(sums[1]);
  switch (node(node(child(index, Rule::Relation)).child).token) {
    case Token::Equal:
      criterion.relation = ast::BinaryOp::Equal;
      break;
    case Token::Less:
      criterion.relation = ast::BinaryOp::Less;
      break;
    case Token::LessEqual:
      criterion.relation = ast::BinaryOp::LessEqual;
      break;
    case Token::Greater:
      criterion.relation = ast::BinaryOp::Greater;
      break;
    default:
      criterion.relation = ast::BinaryOp::GreaterEqual;
      break;
  }
}

}  // namespace expc::parse
