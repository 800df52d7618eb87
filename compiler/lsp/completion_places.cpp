// What may stand in a place, whatever the statement around it.

#include <algorithm>

#include "compiler/lsp/completion.h"
#include "compiler/value/dimension.h"
#include "stdlib/stdlib.h"

namespace expc::lsp {

using language::Role;
using parse::Token;

namespace {

bool isSpace(char sign) { return sign == ' ' || sign == '\t' || sign == '\n' || sign == '\r'; }

std::string_view typeName(const Expected& expected) {
  return expected.type && expected.type->name.parts.size() == 1 ? std::string_view(expected.type->name.parts[0].name)
                                                                : std::string_view();
}

}  // namespace

// ---- the statement so far
// ---------------------------------------------------------------------------------------------

std::optional<size_t> Completion::openBracket() const {
  std::vector<size_t> open;
  for (size_t at = 0; at < size(); ++at) {
    const Token kind = kindAt(at);
    if (kind == Token::LeftParen || kind == Token::LeftBrace || kind == Token::LeftBracket) open.push_back(at);
    if (kind == Token::RightParen || kind == Token::RightBrace || kind == Token::RightBracket)
      if (!open.empty()) open.pop_back();
  }
  return open.empty() ? std::nullopt : std::optional(open.back());
}

std::optional<size_t> Completion::lastOf(std::initializer_list<std::string_view> words) const {
  std::optional<size_t> found;
  unsigned depth = 0;
  for (size_t at = 0; at < size(); ++at) {
    const Token kind = kindAt(at);
    if (kind == Token::LeftParen || kind == Token::LeftBrace || kind == Token::LeftBracket) ++depth;
    if ((kind == Token::RightParen || kind == Token::RightBrace || kind == Token::RightBracket) && depth > 0) --depth;
    if (depth > 0) continue;
    if (std::find(words.begin(), words.end(), textAt(at)) != words.end()) found = at;
  }
  return found;
}

std::string Completion::nameBefore(size_t end) const {
  if (end == 0 || end > size()) return "";
  if (kindAt(end - 1) != Token::RightParen) return std::string(textAt(end - 1));
  size_t begin = end - 1;
  while (begin > 0 && kindAt(begin) != Token::LeftParen) --begin;
  std::string name = "(";
  for (size_t at = begin + 1; at + 1 < end; ++at) {
    name += textAt(at);
    if (kindAt(at) == Token::Comma) name += " ";
  }
  return name + ")";
}

Expected Completion::expectedOf(std::string_view name) const {
  if (study_) {
    const Expected known = lsp::expectedOf(*scope_, *study_, workloads_, name);
    if (known.type || known.labels || !known.parts.empty()) return known;
  }
  Expected expected;
  if (const FoundParameter found = findParameter(workloads_, name); found.declaration) {
    expected.type = &found.declaration->type;
    expected.scope = found.scope;
  }
  return expected;
}

// ---- places
// -----------------------------------------------------------------------------------------------------------

bool Completion::number() {
  const std::string_view written = query_.analysis.sources.text(context_.word);
  if (written.empty() || written[0] < '0' || written[0] > '9') return false;
  const size_t digits = written.find_first_not_of("0123456789.");
  Expected expected;
  // `size = 3|`, `factor size in { 3|`, `batch >= 3|`: the name tells which units fit.
  for (size_t at = size(); at > 0 && !expected.type; --at) expected = expectedOf(textAt(at - 1));
  units(expected, written.substr(0, digits), context_.word);
  return true;
}

void Completion::units(const Expected& expected, std::string_view digits, source::Range range) {
  std::optional<check::Dimension> wanted;
  if (expected.type && expected.type->per.empty()) wanted = check::findDimension(typeName(expected));
  for (const language::Unit& unit : language::units())
    if (!wanted || check::findDimension(unit.type) == wanted)  // others would be mistakes
      propose(std::string(digits) + std::string(unit.text), Kind::Unit, unit.type, "", "", range);
}

bool Completion::member() {
  if (lastKind() != Token::Dot || size() < 2) return false;
  const uint32_t dot = context_.statement.back().range.end;
  const std::string_view all = query_.analysis.sources.text(query_.analysis.root);
  for (uint32_t at = dot; at < context_.word.begin; ++at)
    if (isSpace(all[at])) return false;
  const std::string_view owner = last(1);
  if (lastKind(2) == Token::Dot) {
    for (const language::Word& property : language::words(Role::Property))
      if (property.text.starts_with(std::string(owner) + "."))
        propose(property.text.substr(owner.size() + 1), Kind::Property, property.type, property.doc);
    if (language::find(Role::Kind, owner)) words(Role::Setting, Kind::Property, language::Stepped | language::Whole);
    return true;
  }
  if (owner == "std" && kindAt(0) == Token::Import) {
    for (const std::string_view name : stdlib::names()) propose(name, Kind::Module, "built in", "");
    return true;
  }
  if (owner == "system") {
    words(Role::Property, Kind::Property);
    return true;
  }
  if (owner == "design") {
    for (const Role role : {Role::Kind, Role::Setting})
      for (const language::Word& one : language::words(role)) propose(one.text, Kind::Property, "", one.doc);
    return true;
  }
  const auto module = scope_->imports.find(owner);
  if (module == scope_->imports.end() || !module->second || !module->second->ast) return true;
  const ast::Module& file = *module->second->ast;
  const bool use = kindAt(0) == Token::Workload;
  const bool type = kindAt(0) == Token::Param || kindAt(0) == Token::Metric;
  if (use)
    for (const ast::WorkloadDecl& workload : file.workloads)
      propose(workload.name.name, Kind::Class, "workload", workload.doc, workload.name.name + "($0)");
  if (type)
    for (const ast::EnumDecl& declared : file.enums) propose(declared.name.name, Kind::Enum, "enum", declared.doc);
  if (!use)
    for (const ast::LetDecl& let : file.lets) propose(let.name.name, Kind::Constant, "let", let.doc);
  return true;
}

void Completion::condition(size_t from, bool with_metrics) {
  using namespace std::string_view_literals;
  // Behind a comparison with a name of enum type only its levels make sense.
  size_t at = size();
  if (at > from && context_.brackets > 0) {
    // `method in { lora, |`
    if (const auto open = openBracket();
        open && kindAt(*open) == Token::LeftBrace && *open > from && kindAt(*open - 1) == Token::In)
      return values(expectedOf(nameBefore(kindAt(*open - 2) == Token::Not ? *open - 2 : *open - 1)));
  }
  if (at > from) {
    const Token sign = kindAt(at - 1);
    const bool compares = sign == Token::Equal || sign == Token::NotEqual || sign == Token::Less ||
                          sign == Token::LessEqual || sign == Token::Greater || sign == Token::GreaterEqual ||
                          sign == Token::In;
    if (compares) {
      const Expected expected = expectedOf(nameBefore(at - 1));
      if (expected.labels || expected.enumeration()) {
        // `in` wants a set.
        if (sign != Token::In) return values(expected);
        return propose("{ … }", Kind::Snippet, "a set", "", "{ $0 }");
      }
    }
    const bool after_operand = parse::isWord(sign) || sign == Token::Number || sign == Token::RightParen ||
                               sign == Token::RightBrace || sign == Token::RightBracket || sign == Token::True ||
                               sign == Token::False || sign == Token::String;
    if (after_operand) {
      if (kindAt(0) == Token::Require || kindAt(0) == Token::Exclude) clauses({"because"});
      return clauses({"and", "or", "in", "not"});
    }
  }
  if (with_metrics) metrics(false);
  parameters({});
  lets();
  clauses({"not", "true", "false"});
  const bool rule = kindAt(0) == Token::Require || kindAt(0) == Token::Exclude;
  if (rule) propose("system", Kind::Module, "the machine", "Marks points that a machine cannot run.");
  words(Role::Choice, Kind::Function);
  if (with_metrics) word(*language::find("epochs_to"), Kind::Function);
}

void Completion::values(const Expected& expected) {
  if (expected.labels) {
    for (const ast::WorkloadUse& use : expected.labels->workloads)
      if (use.label) propose(use.label->name, Kind::Value, "workload", "");
    return;
  }
  if (!expected.parts.empty()) {
    // In `(a, |` the commas since the bracket tell which part it is.
    const auto open = openBracket();
    size_t part = 0;
    for (size_t at = open.value_or(size()); at < size(); ++at) part += kindAt(at) == Token::Comma;
    if (open && kindAt(*open) == Token::LeftParen && part < expected.parts.size()) values(expected.parts[part]);
    return;
  }
  if (const ast::EnumDecl* enumeration = expected.enumeration()) {
    for (const ast::EnumLevel& level : enumeration->levels)
      propose(level.name.name, Kind::EnumMember, enumeration->name.name, enumeration->doc,
              level.fields.empty() ? "" : level.name.name + "($0)");
    return;
  }
  if (typeName(expected) == "bool") clauses({"true", "false"});
  lets();
}

void Completion::lets() {
  if (workload_)
    for (const ast::LetDecl& let : workload_->lets) propose(let.name.name, Kind::Constant, "let", let.doc);
  if (study_)
    for (const ast::LetDecl& let : study_->lets) propose(let.name.name, Kind::Constant, "let", let.doc);
  for (const ast::LetDecl& let : scope_->ast->lets) propose(let.name.name, Kind::Constant, "let", let.doc);
  for (const auto& [name, target] : scope_->imports)
    if (target && target->ast && !target->ast->lets.empty()) propose(name, Kind::Module, "module", "");
}

void Completion::factors() {
  if (!study_) return;
  for (const ast::FactorDecl& factor : study_->factors) propose(factor.name.name, Kind::Variable, "factor", factor.doc);
  if (study_->workloads.size() > 1) propose("workload", Kind::Variable, "factor", "The workloads of this study.");
}

void Completion::parameters(const std::vector<std::string>& without) {
  const bool argument = openBracket() && kindAt(0) == Token::Workload;
  for (const FoundWorkload& workload : workloads_)
    for (const ast::ParamDecl& param : workload.declaration->params) {
      const std::string& name = param.name.name;
      if (std::find(without.begin(), without.end(), name) != without.end()) continue;
      propose(name, Kind::Property, query_.analysis.sources.text(param.type.range), param.doc,
              argument ? name + " = $0" : "");
    }
}

void Completion::metrics(bool comparisons) {
  if (study_ && comparisons)
    for (const ast::CompareDecl& compare : study_->compares)
      propose(compare.name.name, Kind::Function, query_.analysis.sources.text(compare.call_range), compare.doc);
  if (study_)
    for (const ast::MetricDecl& metric : study_->metrics) propose(metric.name.name, Kind::Field, "metric", metric.doc);
  for (const FoundWorkload& workload : workloads_)
    for (const ast::MetricDecl* metric : metricsOf(workload))
      propose(metric->name.name, Kind::Field,
              metric->type ? query_.analysis.sources.text(metric->type->range) : std::string_view("metric"),
              metric->doc);
}

void Completion::levelsOf(std::string_view name) {
  // The factor's own levels where it can be read, else what its type allows.
  const ast::FactorDecl* factor = study_ ? findNamed(study_->factors, name) : nullptr;
  const auto* set = factor && factor->levels ? std::get_if<ast::SetExpr>(&factor->levels->node) : nullptr;
  if (!set) return values(expectedOf(name));
  for (const ast::ExprPtr& element : set->elements)
    propose(query_.analysis.sources.text(element->range), Kind::Value, "level", "");
}

void Completion::selectors(size_t open) {
  // [FACTOR = LEVEL, …]
  size_t begin = open;
  for (size_t at = open; at < size(); ++at)
    if (kindAt(at) == Token::Comma) begin = at;
  if (begin + 1 == size()) return factors();
  if (lastKind() == Token::Assign) levelsOf(nameBefore(size() - 1));
}

void Completion::workloadNames() {
  for (const ast::WorkloadDecl& workload : scope_->ast->workloads)
    propose(workload.name.name, Kind::Class, "workload", workload.doc, workload.name.name + "($0)");
  for (const auto& [name, target] : scope_->imports) {
    if (!target || !target->ast) continue;
    for (const ast::WorkloadDecl& workload : target->ast->workloads)
      propose(name + "." + workload.name.name, Kind::Class, "workload", workload.doc,
              name + "." + workload.name.name + "($0)");
  }
}

void Completion::types() {
  words(Role::Type, Kind::Class);
  for (const ast::EnumDecl& declared : scope_->ast->enums)
    propose(declared.name.name, Kind::Enum, "enum", declared.doc);
  for (const auto& [name, target] : scope_->imports)
    if (target && target->ast)
      for (const ast::EnumDecl& declared : target->ast->enums)
        propose(name + "." + declared.name.name, Kind::Enum, "enum", declared.doc);
}

void Completion::functions() { words(Role::Comparison, Kind::Function); }

}  // namespace expc::lsp
