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
    case Rule::ControlDecl:
      study.controls.push_back(controlDecl(index));
      break;
    case Rule::CriterionDecl:
      study.criteria.push_back(criterionDecl(index));
      break;
    case Rule::ConfidenceDecl:
      study.confidences.push_back(confidenceDecl(index));
      break;
    case Rule::DesignDecl:
      study.designs.push_back(designDecl(index));
      break;
    case Rule::TableDecl: {
      const uint32_t by = child(index, Rule::FactorNames);
      study.tables.push_back({range(index), identifier(child(index, Rule::Word)),
                              by == kNone ? std::vector<ast::Identifier>{} : factorNames(by)});
      break;
    }
    case Rule::PlotDecl: {
      const uint32_t by = child(index, Rule::FactorNames);
      study.plots.push_back({range(index), identifier(child(index, Rule::Word)),
                             factorName(child(index, Rule::FactorName)),
                             by == kNone ? std::vector<ast::Identifier>{} : factorNames(by)});
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
  const std::vector<uint32_t> names = children(index, Rule::Name);
  out.name = qualifiedName(names.back());
  if (names.size() == 2) {
    ast::QualifiedName label = qualifiedName(names[0]);
    if (label.parts.size() == 1)
      out.label = std::move(label.parts[0]);
    else
      reporter_.syntaxError(label.range, "a single name before '='");
  }
  int depth = 0;
  if (const uint32_t given = child(index, Rule::Arguments); given != kNone) out.arguments = arguments(given, depth);
  return out;
}

ast::ExprPtr Transform::levels(uint32_t value) {
  ast::ExprPtr out = expression(value);
  if (std::holds_alternative<ast::ListExpr>(out->node) || std::holds_alternative<ast::RecordExpr>(out->node))
    reporter_.syntaxError(out->range, "a level set, such as { a, b } or 1..4, after 'in'");
  return out;
}

ast::FactorDecl Transform::factorDecl(uint32_t index) {
  ast::FactorDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = factorName(child(index, Rule::FactorName), &out.parts);
  out.levels = levels(child(index, Rule::Value));
  for (uint32_t clause : children(index, Rule::FactorClause)) {
    const bool is_baseline = has(clause, Token::Baseline);
    ast::ExprPtr& place = is_baseline ? out.baseline : out.when;
    if (place)
      duplicate(clause, is_baseline ? "the baseline" : "'when'", place->range);
    else
      place = expression(child(clause, is_baseline ? Rule::Value : Rule::Condition));
  }
  return out;
}

std::optional<ast::CompareDecl> Transform::compareDecl(uint32_t index) {
  ast::ExprPtr value = expression(child(index, Rule::Condition));
  auto* call = std::get_if<ast::CallExpr>(&value->node);
  if (!call) {
    reporter_.syntaxError(value->range, "a call such as speedup(step_time) after '='");
    return std::nullopt;
  }
  ast::CompareDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  out.call_range = value->range;
  out.call = std::move(*call);
  out.over = factorName(child(index, Rule::FactorName));
  if (const uint32_t against = child(index, Rule::Value); against != kNone) out.against = expression(against);
  if (has(index, Token::Allow)) out.allowed = identifier(children(index, Rule::Word).back());
  return out;
}

ast::ControlDecl Transform::controlDecl(uint32_t index) {
  ast::ControlDecl out;
  out.range = range(index);
  out.doc = doc(index);
  out.name = identifier(child(index, Rule::Word));
  int depth = 0;
  for (ast::CallArgument& selector : arguments(child(index, Rule::Selectors), depth)) {
    if (selector.name)
      out.selectors.push_back(std::move(selector));
    else
      reporter_.syntaxError(selector.value->range,
                            "the name of a factor and '=' before the level, as in [method = lora]");
  }
  return out;
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
  const std::vector<uint32_t> values = children(child(index, Rule::SettingValue), Rule::Condition);
  return {range(index), identifier(child(index, Rule::Word)), expression(values[0]),
          values.size() == 2 ? expression(values[1]) : nullptr};
}

}  // namespace expc::parse
