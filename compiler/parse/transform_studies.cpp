#include "compiler/parse/transform.h"

namespace expc::parse {

void Transform::read(uint32_t index, ast::StudyDecl& out) {
  for (uint32_t item : statements(child(index, Rule::StudyBody), Rule::StudyItem)) {
    take(item, Rule::WorkloadUse, out.workloads);
    take(item, Rule::FactorDecl, out.factors);
    take(item, Rule::LetDecl, out.lets);
    take(item, Rule::RuleDecl, out.rules);
    take(item, Rule::MetricDecl, out.metrics);
    take(item, Rule::MeasureDecl, out.measures);
    take(item, Rule::CompareDecl, out.compares);
    take(item, Rule::ControlDecl, out.controls);
    take(item, Rule::CriterionDecl, out.criteria);
    take(item, Rule::ConfidenceDecl, out.confidences);
    take(item, Rule::DesignDecl, out.designs);
    take(item, Rule::TableDecl, out.tables);
    take(item, Rule::PlotDecl, out.plots);
    take(item, Rule::PresetDecl, out.presets);
  }
  for (const ast::ConfidenceDecl& confidence : out.confidences)
    for (const ast::CriterionDecl& criterion : out.criteria)
      if (!criterion.confidence && criterion.range.end < confidence.range.begin &&
          reporter_.text(criterion.range.end, confidence.range.begin).find_first_not_of(" \t") ==
              std::string_view::npos)
        reporter_.syntaxError(confidence.range, "'with' before the confidence of a criterion");
  // What compares nothing that is called was reported.
  std::erase_if(out.compares, [](const ast::CompareDecl& compare) { return compare.call.callee.parts.empty(); });
}

void Transform::read(uint32_t index, ast::MeasureDecl& out) { out.metrics = identifiers(child(index, Rule::Words)); }

void Transform::read(uint32_t index, ast::TableDecl& out) {
  out.subject = identifier(child(index, Rule::Word));
  if (const uint32_t metrics = child(index, Rule::Words); metrics != kNone) out.of = identifiers(metrics);
  out.by = factorNames(index);
}

void Transform::read(uint32_t index, ast::PlotDecl& out) {
  out.subject = identifier(child(index, Rule::Word));
  out.over = factorName(child(index, Rule::FactorName));
  out.by = factorNames(index);
}

void Transform::read(uint32_t index, ast::WorkloadUse& out) {
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
}

ast::ExprPtr Transform::levels(uint32_t value) {
  ast::ExprPtr out = expression(value);
  if (std::holds_alternative<ast::ListExpr>(out->node) || std::holds_alternative<ast::RecordExpr>(out->node))
    reporter_.syntaxError(out->range, "a level set, such as { a, b } or 1..4, after 'in'");
  return out;
}

void Transform::read(uint32_t index, ast::FactorDecl& out) {
  out.name = factorName(child(index, Rule::FactorName), &out.parts);
  out.levels = levels(child(index, Rule::Value));
  for (uint32_t clause : children(index, Rule::FactorClause)) {
    const bool is_baseline = has(clause, Token::Baseline);
    ast::ExprPtr& place = is_baseline ? out.baseline : out.when;
    if (place)
      duplicate(clause, is_baseline ? "the baseline" : "'when'", place->range);
    else
      place = expressionIn(clause, is_baseline ? Rule::Value : Rule::Condition);
  }
}

void Transform::read(uint32_t index, ast::CompareDecl& out) {
  const ast::ExprPtr value = expressionIn(index, Rule::Condition);
  auto* call = std::get_if<ast::CallExpr>(&value->node);
  if (!call) return reporter_.syntaxError(value->range, "a call such as speedup(step_time) after '='");
  out.call_range = value->range;
  out.call = std::move(*call);
  out.over = factorName(child(index, Rule::FactorName));
  out.against = expressionIn(index, Rule::Value);
  if (has(index, Token::Allow)) out.allowed = identifier(children(index, Rule::Word).back());
}

void Transform::read(uint32_t index, ast::ControlDecl& out) {
  int depth = 0;
  for (ast::CallArgument& selector : arguments(child(index, Rule::Selectors), depth)) {
    if (selector.name)
      out.selectors.push_back(std::move(selector));
    else
      reporter_.syntaxError(selector.value->range,
                            "the name of a factor and '=' before the level, as in [method = lora]");
  }
}

void Transform::read(uint32_t index, ast::DesignDecl& out) {
  if (const uint32_t shape = child(index, Rule::Word); shape != kNone) out.shape = identifier(shape);
  for (uint32_t item : statements(child(index, Rule::DesignBody), Rule::DesignItem)) {
    const uint32_t body = child(item, Rule::KindBody);
    if (body == kNone) {
      add(item, out.settings);
      continue;
    }
    ast::DesignKindBlock& block = out.kinds.emplace_back();
    block.range = range(item);
    block.kind = identifier(child(item, Rule::Word));
    for (uint32_t setting : statements(body, Rule::Setting)) add(setting, block.settings);
  }
}

/// `index` is a setting or a designItem without a block.
void Transform::read(uint32_t index, ast::DesignSetting& out) {
  const std::vector<uint32_t> values = children(child(index, Rule::SettingValue), Rule::Condition);
  out.value = expression(values[0]);
  if (values.size() == 2) out.until = expression(values[1]);
  const uint32_t looks = child(child(index, Rule::SettingValue), Rule::LooksClause);
  if (looks == kNone) return;
  for (uint32_t look : children(looks, Rule::Sum)) out.looks.push_back(expression(look));
}

}  // namespace expc::parse
