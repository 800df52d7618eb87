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
