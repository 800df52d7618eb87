#include "compiler/parse/transform.h"

namespace expc::parse {

void Transform::read(uint32_t index, ast::CriterionDecl& out) {
  for (uint32_t part : children(index, Rule::Quantifier)) add(part, out.quantifiers);
  claim(child(index, Rule::Claim), out);
  out.confidence = expressionIn(index, Rule::Sum);
  if (const uint32_t always = child(index, Token::Always); always != kNone) out.always = range(always);
}

void Transform::read(uint32_t index, ast::ConfidenceDecl& out) { out.value = expressionIn(index, Rule::Sum); }

void Transform::read(uint32_t index, ast::Quantifier& out) {
  out.kind = has(index, Token::ForAll) ? ast::QuantifierKind::ForAll : ast::QuantifierKind::Exists;
  out.factors = factorNames(index);
  out.where = expressionIn(index, Rule::Condition);
  out.all = out.factors.empty();  // `forall *`, `forall where COND`
  if (out.all && !has(index, Token::Star) && !out.where)
    reporter_.syntaxError(out.range, fmt::format("the names of factors, '*' or 'where' after '{}'", text(index)));
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
  criterion.relation = operatorOf(node(node(child(index, Rule::Relation)).child).token);
}

}  // namespace expc::parse
