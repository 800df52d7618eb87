#include "compiler/parse/transform.h"

namespace expc::parse {

ast::StudyDecl Transform::studyDecl(uint32_t index) {
  ast::StudyDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t item : children(child(index, Rule::StudyBody), Rule::StudyItem)) {
    const uint32_t inner = node(item).child;
    if (!broken(item) && !broken(inner)) studyItem(inner, out);
  }
  return out;
}

void Transform::studyItem(uint32_t index, ast::StudyDecl& study) {
  switch (node(index).rule) {
    case Rule::WorkloadUse:
      study.workloads.push_back(workloadUse(index));
      break;
    case Rule::FactorDecl:
      study.factors.push_back(factorDecl(index));
      break;
    case Rule::LetDecl:
      study.lets.push_back(letDecl(index));
      break;
    case Rule::RuleDecl:
      study.rules.push_back(ruleDecl(index));
      break;
    case Rule::MetricDecl:
      study.metrics.push_back(metricDecl(index));
      break;
    case Rule::MeasureDecl:
      study.measures.push_back({range(index), identifiers(child(index, Rule::Words))});
      break;
    case Rule::CompareDecl:
      if (auto compare = compareDecl(index)) study.compares.push_back(std::move(*compare));
      break;
    case Rule::CriterionDecl:
      study.criteria.push_back(criterionDecl(index));
      break;
    case Rule::DesignDecl:
      study.designs.push_back(designDecl(index));
      break;
    case Rule::TableDecl: {
      const uint32_t by = child(index, Rule::Words);
      study.tables.push_back({range(index), identifier(child(index, Rule::Word)),
                              by == kNone ? std::vector<ast::Identifier>{} : identifiers(by)});
      break;
    }
    case Rule::PlotDecl: {
      const std::vector<uint32_t> names = children(index, Rule::Word);
      const uint32_t by = child(index, Rule::Words);
      study.plots.push_back({range(index), identifier(names[0]), identifier(names[1]),
                             by == kNone ? std::vector<ast::Identifier>{} : identifiers(by)});
      break;
    }
    case Rule::PresetDecl:
      study.presets.push_back(presetDecl(index));
      break;
    default:
      break;
  }
}

ast::WorkloadUse Transform::workloadUse(uint32_t index) {
  ast::WorkloadUse out;
  out.range = range(index);
  out.name = qualifiedName(child(index, Rule::Name));
  int depth = 0;
  if (const uint32_t given = child(index, Rule::Arguments); given != kNone) out.arguments = arguments(given, depth);
  return out;
}

ast::FactorDecl Transform::factorDecl(uint32_t index) {
  ast::FactorDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  out.levels = expression(child(index, Rule::Value));
  for (uint32_t clause : children(index, Rule::FactorClause)) {
    const bool is_baseline = has(clause, Token::Baseline);
    ast::ExprPtr& place = is_baseline ? out.baseline : out.when;
    if (place)
      duplicate(clause, is_baseline ? "the baseline" : "'when'", place->range);
    else
      place = expression(child(clause, Rule::Condition));
  }
  return out;
}

std::optional<ast::CompareDecl> Transform::compareDecl(uint32_t index) {
  const std::vector<uint32_t> names = children(index, Rule::Word);
  const std::vector<uint32_t> conditions = children(index, Rule::Condition);
  ast::ExprPtr value = expression(conditions[0]);
  auto* call = std::get_if<ast::CallExpr>(&value->node);
  if (!call) {
    reporter_.syntaxError(value->range, "expected a call such as speedup(step_time) after '='");
    return std::nullopt;
  }
  ast::CompareDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(names[0]);
  out.call_range = value->range;
  out.call = std::move(*call);
  out.over = identifier(names[1]);
  if (conditions.size() == 2) out.against = expression(conditions[1]);
  return out;
}

ast::CriterionDecl Transform::criterionDecl(uint32_t index) {
  ast::CriterionDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  for (uint32_t part : children(index, Rule::Quantifier)) out.quantifiers.push_back(quantifier(part));
  claim(child(index, Rule::Claim), out);
  if (const uint32_t confidence = child(index, Rule::Sum); confidence != kNone) out.confidence = expression(confidence);
  return out;
}

ast::Quantifier Transform::quantifier(uint32_t index) {
  ast::Quantifier out;
  out.range = range(index);
  out.kind = has(index, Token::ForAll) ? ast::QuantifierKind::ForAll : ast::QuantifierKind::Exists;
  out.all = has(index, Token::Star);
  if (const uint32_t words = child(index, Rule::Words); words != kNone) out.factors = identifiers(words);
  if (const uint32_t where = child(index, Rule::Condition); where != kNone) out.where = expression(where);
  if (!out.all && out.factors.empty() && !out.where)
    reporter_.syntaxError(out.range,
                          fmt::format("expected the names of factors, '*' or 'where' after '{}'", text(index)));
  return out;
}

void Transform::claim(uint32_t index, ast::CriterionDecl& criterion) {
  const std::vector<uint32_t> sums = children(index, Rule::Sum);
  criterion.subject = expression(sums[0]);
  if (sums.size() == 3) {
    criterion.band_low = expression(sums[1]);
    criterion.band_high = expression(sums[2]);
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

ast::DesignDecl Transform::designDecl(uint32_t index) {
  ast::DesignDecl out;
  out.range = range(index);
  if (const uint32_t shape = child(index, Rule::Word); shape != kNone) out.shape = identifier(shape);
  designBody(child(index, Rule::DesignBody), out);
  return out;
}

void Transform::designBody(uint32_t index, ast::DesignDecl& design) {
  for (uint32_t item : children(index, Rule::DesignItem)) {
    if (broken(item)) continue;
    const uint32_t body = child(item, Rule::KindBody);
    if (body == kNone) {
      design.settings.push_back(designSetting(item));
      continue;
    }
    ast::DesignKindBlock block;
    block.range = range(item);
    block.kind = identifier(child(item, Rule::Word));
    for (uint32_t setting : children(body, Rule::Setting))
      if (!broken(setting)) block.settings.push_back(designSetting(setting));
    design.kinds.push_back(std::move(block));
  }
}

/// `index` is a setting or a designItem without a block.
ast::DesignSetting Transform::designSetting(uint32_t index) {
  return {range(index), identifier(child(index, Rule::Word)), expression(child(index, Rule::SettingValue))};
}

}  // namespace expc::parse
