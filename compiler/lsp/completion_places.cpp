// What may stand in a place, whatever the statement around it.

#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/check/value/dimension.h"
#include "compiler/lsp/completion.h"
#include "compiler/lsp/facts.h"
#include "stdlib/stdlib.h"

namespace expc::lsp {

using check::SymbolKind;
using language::Role;
using parse::Token;

namespace {

bool compares(Token token) { return token >= Token::Equal && token <= Token::Greater; }

}  // namespace

// ---- the statement so far

bool Completion::afterOperand() const {
  const Token kind = lastKind();
  return parse::isWord(kind) || parse::closes(kind) || kind == Token::Number || kind == Token::String ||
         kind == Token::True || kind == Token::False;
}

std::optional<size_t> Completion::openBracket() const {
  unsigned closed = 0;
  for (size_t at = size(); at-- > 0;) {
    if (parse::closes(kindAt(at))) ++closed;
    if (parse::opens(kindAt(at)) && closed-- == 0) return at;
  }
  return std::nullopt;
}

std::vector<std::string> Completion::nameBefore(size_t end) const {
  if (end == 0 || kindAt(end - 1) != Token::RightParen) return {std::string(textAt(end - 1))};
  std::vector<std::string> parts;
  for (size_t at = end - 1; at > 0 && kindAt(at) != Token::LeftParen; --at)
    if (parse::isWord(kindAt(at))) parts.emplace(parts.begin(), textAt(at));
  return parts;
}

std::vector<std::string> Completion::nameBefore(Token kind) const {
  return nameBefore(static_cast<size_t>(std::ranges::find(context_.statement, kind, &parse::LexedToken::kind) -
                                        context_.statement.begin()));
}

// ---- symbols

const ast::StudyDecl* Completion::declaredStudy() const {
  return study_ ? std::get<const ast::StudyDecl*>(symbols().symbols()[*study_].declaration) : nullptr;
}

std::optional<unsigned> Completion::importedAs(std::string_view name) const {
  const auto module = root_->imports.find(name);
  return module == root_->imports.end() ? std::nullopt : fileOf(module->second);
}

std::optional<unsigned> Completion::fileOf(const load::Module* file) const {
  return file ? symbols().declaredAt({file->ast.file, 0, 0}) : std::nullopt;
}

void Completion::addWorkloads(const ast::StudyDecl& study) {
  for (const ast::WorkloadUse& use : study.workloads) {
    const source::Range name = use.name.parts.back().range;
    if (const check::Occurrence* used = symbols().at(name.file, name.begin); used && !used->declares)
      workloads_.insert(used->symbol);
  }
}

check::Type Completion::typeOf(const std::vector<std::string>& name) const {
  if (name.size() != 1) {
    std::vector<check::Type> parts;
    for (const std::string& part : name) parts.push_back(typeOf({part}));
    return check::Type::tuple(std::move(parts));
  }
  const check::Program& program = query_.analysis.program;
  std::vector<const check::Workload*> all;
  // Of several workloads a study chooses one by the name `workload`.
  if (const ast::StudyDecl* around = declaredStudy())
    if (const check::Study* study = checkedStudy(program, *around)) all.push_back(study->workload);
  for (const unsigned symbol : workloads_) all.push_back(checkedWorkload(program, symbols().symbols()[symbol].range));
  for (const check::Workload* workload : all)
    if (const int index = workload ? workload->findParameter(name[0]) : -1; index >= 0)
      return workload->parameters[index].type;
  return check::Type::error();
}

check::Type Completion::typeBehindColon() const {
  size_t first = 3;
  if (textAt(first) == "bool") return check::Type::boolean();
  std::optional<unsigned> file = file_;
  if (kindAt(first + 1) == Token::Dot) {
    file = importedAs(textAt(first));
    first += 2;
  }
  if (const auto found = symbols().find(SymbolKind::Enum, textAt(first), file))
    for (const auto& type : query_.analysis.program.enums)
      if (type->range == symbols().symbols()[*found].range) return check::Type::of(*type);
  return check::Type::error();
}

void Completion::declared(SymbolKind kind, std::optional<unsigned> parent, const std::string& module) {
  static const std::map<SymbolKind, Kind> kKinds = {
      {SymbolKind::Enum, Kind::Enum},           {SymbolKind::Let, Kind::Constant},
      {SymbolKind::Workload, Kind::Class},      {SymbolKind::Parameter, Kind::Property},
      {SymbolKind::Metric, Kind::Field},        {SymbolKind::Factor, Kind::Variable},
      {SymbolKind::Comparison, Kind::Function}, {SymbolKind::Criterion, Kind::Event},
      {SymbolKind::Reference, Kind::Struct}};
  for (const check::Symbol& symbol : symbols().symbols()) {
    if (!parent || symbol.kind != kind || symbol.parent != parent) continue;
    const std::string name = module + symbol.name;
    propose(name, kKinds.at(kind), detailOf(query_.analysis, symbol), docOf(symbol),
            kind == SymbolKind::Workload ? name + "($0)" : "");
  }
}

// ---- places

bool Completion::number() {
  const std::string_view written = query_.analysis.sources.text(context_.word);
  if (written.empty() || written[0] < '0' || written[0] > '9') return false;
  const std::string digits(written.substr(0, written.find_first_not_of("0123456789.")));
  check::Type type;
  // `size = 3|`, `factor size in { 3|`, `batch >= 3|`: the name tells which units fit.
  for (size_t at = size(); at > 0 && type.isError(); --at) type = typeOf({std::string(textAt(at - 1))});
  // Of a number without a unit, or of a rate, none is the obvious one.
  const auto fits = [&](const language::Unit& unit) {
    return type.kind == check::Type::Kind::Number && check::findDimension(unit.type) == type.dimension;
  };
  const bool any = std::ranges::none_of(language::units(), fits);
  for (const language::Unit& unit : language::units())
    if (any || fits(unit)) propose(digits + std::string(unit.text), Kind::Unit, unit.type, "");
  return true;
}

bool Completion::member() {
  if (lastKind() != Token::Dot || size() < 2 || context_.statement.back().range.end != context_.word.begin)
    return false;
  const std::string owner(last(1));
  const Token head = kindAt(0);
  if (lastKind(2) == Token::Dot || context_.block == parse::Rule::SystemBody) {
    for (const language::Word& property : language::words(Role::Property))
      if (property.text.starts_with(owner + "."))
        propose(property.text.substr(owner.size() + 1), Kind::Property, property.type, property.doc);
    if (language::find(Role::Kind, owner)) words(Role::Setting, Kind::Property, language::Stepped | language::Whole);
  } else if (owner == "std" && head == Token::Import) {
    modules("");
  } else if (owner == "system") {
    words(Role::Property, Kind::Property);
  } else if (owner == "design") {
    for (const Role role : {Role::Kind, Role::Setting})
      for (const language::Word& one : language::words(role)) propose(one.text, Kind::Property, "", one.doc);
  } else {
    const std::optional<unsigned> file = importedAs(owner);
    const bool enums = head == Token::Param || head == Token::Metric;
    if (last(2) == "like") return declared(SymbolKind::Reference, file), true;
    if (head == Token::Workload) return declared(SymbolKind::Workload, file), true;
    if (enums) declared(SymbolKind::Enum, file);
    declared(SymbolKind::Let, file);
  }
  return true;
}

void Completion::condition(bool with_metrics) {
  // Behind a comparison with a name of enum type only its levels make sense, in braces behind `in`.
  const auto open = openBracket();
  const bool members = open && *open > 0 && kindAt(*open) == Token::LeftBrace && kindAt(*open - 1) == Token::In;
  const size_t sign = members ? *open - 1 : size() - 1;
  const bool negated = kindAt(sign) == Token::In && kindAt(sign - 1) == Token::Not;
  const check::Type type = typeOf(nameBefore(negated ? sign - 1 : sign));
  if (members) return values(type);
  if (type.kind == check::Type::Kind::Enum && kindAt(sign) == Token::In)
    return propose("{ … }", Kind::Snippet, "a set", "", "{ $0 }");
  if (type.kind == check::Type::Kind::Enum && compares(kindAt(sign))) return values(type);
  if (with_metrics) metrics(false);
  parameters();
  lets();
  words({"not", "true", "false"});
  const bool rule = kindAt(0) == Token::Require || kindAt(0) == Token::Exclude;
  if (rule) propose("system", Kind::Module, "the machine", "Marks points that a machine cannot run.");
  words(Role::Choice, Kind::Function);
  if (with_metrics) words({"epochs_to"}, Kind::Function);
}

/// The function of a comparison and what it takes.
void Completion::comparison() {
  const auto open = openBracket();
  if (!open) return words(Role::Comparison, Kind::Function);
  if (lastKind() == Token::Comma && textAt(*open - 1) == "efficiency") return words(Role::Scaling, Kind::Keyword);
  metrics(true);
}

/// Of `workload NAME(PARAMETER = VALUE, …)`: parameters that have no value yet, or values of one.
void Completion::arguments() {
  const size_t open = static_cast<size_t>(
      std::ranges::find(context_.statement, Token::LeftParen, &parse::LexedToken::kind) - context_.statement.begin());
  const bool dotted = kindAt(open - 2) == Token::Dot;
  const auto found =
      symbols().find(SymbolKind::Workload, textAt(open - 1), dotted ? importedAs(textAt(open - 3)) : file_);
  if (!found || openBracket() != open) return;  // inside the brackets of a value: `data = mnist(`
  workloads_ = {*found};
  if (lastKind() == Token::Assign) return values(typeOf({std::string(last(1))}));
  std::vector<std::string> given;
  for (size_t at = open; at < size(); ++at)
    if (kindAt(at) == Token::Assign) given.emplace_back(textAt(at - 1));
  if (lastKind() == Token::Comma || open + 1 == size()) parameters(given);
}

/// Parameters that the study neither varies nor fixes.
void Completion::newFactors() {
  std::vector<std::string> without;
  if (const ast::StudyDecl* around = declaredStudy()) {
    for (const ast::FactorDecl& factor : around->factors) without.push_back(factor.name.name);
    for (const ast::WorkloadUse& use : around->workloads)
      for (const ast::CallArgument& argument : use.arguments)
        if (argument.name) without.push_back(argument.name->name);
  }
  parameters(without);
}

void Completion::values(const check::Type& type) {
  if (type.kind == check::Type::Kind::Tuple) {
    // In `(a, |` the commas since the bracket tell which part it is.
    const auto open = openBracket();
    size_t part = 0;
    for (size_t at = open.value_or(size()); at < size(); ++at) part += kindAt(at) == Token::Comma;
    const std::vector<check::Type>& parts = type.composite->parts;
    if (open && kindAt(*open) == Token::LeftParen && part < parts.size()) values(parts[part]);
    return;
  }
  if (type.kind == check::Type::Kind::Enum) {
    const check::EnumType& levels = *type.enumeration;
    for (const check::EnumType::Level& level : levels.levels)
      propose(level.name, Kind::EnumMember, levels.name, levels.doc, level.fields.empty() ? "" : level.name + "($0)");
    return;
  }
  if (type.kind == check::Type::Kind::Bool) words({"true", "false"});
  lets();
}

void Completion::lets() {
  for (const auto& parent : {workload_, study_, file_}) declared(SymbolKind::Let, parent);
  for (const auto& [name, target] : root_->imports)
    if (target && !target->ast.lets.empty()) propose(name, Kind::Module, "module", "");
}

void Completion::factors() {
  declared(SymbolKind::Factor, study_);
  if (const ast::StudyDecl* around = declaredStudy(); around && around->workloads.size() > 1)
    propose("workload", Kind::Variable, "factor", "The workloads of this study.");
}

void Completion::parameters(const std::vector<std::string>& without) {
  const bool argument = openBracket() && kindAt(0) == Token::Workload;
  for (const check::Symbol& symbol : symbols().symbols()) {
    if (symbol.kind != SymbolKind::Parameter || !workloads_.contains(*symbol.parent)) continue;
    if (std::find(without.begin(), without.end(), symbol.name) != without.end()) continue;
    propose(symbol.name, Kind::Property, detailOf(query_.analysis, symbol), docOf(symbol),
            argument ? symbol.name + " = $0" : "");
  }
}

void Completion::metrics(bool comparisons) {
  if (comparisons) declared(SymbolKind::Comparison, study_);
  declared(SymbolKind::Metric, study_);
  for (const unsigned workload : workloads_) {
    declared(SymbolKind::Metric, workload);
    // Those that it takes from a module are declared elsewhere.
    if (const auto* checked = checkedWorkload(query_.analysis.program, symbols().symbols()[workload].range))
      for (const check::Metric& metric : checked->metrics)
        propose(metric.name, Kind::Field, metric.dimension.typeName(), metric.doc);
  }
}

void Completion::levelsOf(const std::vector<std::string>& name) {
  // The factor's own levels where it can be read, else what its type allows.
  const std::string written = name.size() == 1 ? name[0] : fmt::format("({})", fmt::join(name, ", "));
  const auto factor = symbols().find(SymbolKind::Factor, written, study_);
  const ast::Expr* levels =
      factor ? std::get<const ast::FactorDecl*>(symbols().symbols()[*factor].declaration)->levels.get() : nullptr;
  const auto* set = levels ? std::get_if<ast::SetExpr>(&levels->node) : nullptr;
  if (!set) return values(typeOf(name));
  for (const ast::ExprPtr& element : set->elements)
    propose(query_.analysis.sources.text(element->range), Kind::Value, "level", "");
}

/// Of `[FACTOR = LEVEL, …]`.
void Completion::selectors() {
  if (lastKind() == Token::Assign) return levelsOf(nameBefore(size() - 1));
  if (lastKind() == Token::LeftBracket || lastKind() == Token::Comma) factors();
}

void Completion::types() {
  words(Role::Type, Kind::Class);
  if (lastKind() != Token::Slash && kindAt(0) != Token::Metric) imported(SymbolKind::Enum);
}

void Completion::modules(std::string_view prefix) {
  for (const std::string_view name : stdlib::names())
    propose(std::string(prefix) + std::string(name), Kind::Module, "built in", "");
}

void Completion::imported(SymbolKind kind) {
  declared(kind, file_);
  for (const auto& [name, target] : root_->imports) declared(kind, fileOf(target), name + ".");
}

}  // namespace expc::lsp
