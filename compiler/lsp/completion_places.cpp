// What may stand in a place, whatever the statement around it.

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>

#include "compiler/lsp/completion.h"
#include "compiler/lsp/facts.h"
#include "compiler/value/dimension.h"
#include "stdlib/stdlib.h"

namespace expc::lsp {

using check::SymbolKind;
using language::Role;
using parse::Token;

namespace {

bool isSpace(char sign) { return sign == ' ' || sign == '\t' || sign == '\n' || sign == '\r'; }

/// The parts of "(loader, layout)"; empty for a simple name.
std::vector<std::string> lockstepParts(std::string_view name) {
  llvm::StringRef rest(name);
  if (!rest.consume_front("(") || !rest.consume_back(")")) return {};
  llvm::SmallVector<llvm::StringRef, 4> parts;
  rest.split(parts, ',');
  std::vector<std::string> result;
  for (const llvm::StringRef part : parts) result.push_back(part.trim().str());
  return result;
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

// ---- symbols -------------------------------------------------------------------------------------------------------

const ast::StudyDecl* Completion::declaredStudy() const {
  return study_ ? std::get<const ast::StudyDecl*>(names().symbols()[*study_].declaration) : nullptr;
}

std::optional<unsigned> Completion::findWorkload(const std::vector<std::string_view>& name) const {
  if (name.empty()) return std::nullopt;
  return names().find(SymbolKind::Workload, name.back(), name.size() == 1 ? file_ : importedAs(name[0]));
}

std::optional<unsigned> Completion::importedAs(std::string_view name) const {
  const auto module = root_->imports.find(name);
  return module == root_->imports.end() ? std::nullopt : fileOf(module->second);
}

std::optional<unsigned> Completion::fileOf(const load::Module* file) const {
  return file ? names().declaredAt({file->ast.file, 0, 0}) : std::nullopt;
}

void Completion::addWorkloads(const ast::StudyDecl& study) {
  for (const ast::WorkloadUse& use : study.workloads) {
    const source::Range name = use.name.parts.back().range;
    if (const check::Occurrence* used = names().at(name.file, name.begin); used && !used->declares)
      workloads_.insert(used->symbol);
  }
}

check::Type Completion::typeOf(std::string_view name) const {
  if (const std::vector<std::string> parts = lockstepParts(name); !parts.empty()) {
    std::vector<check::Type> types;
    for (const std::string& part : parts) types.push_back(typeOf(part));
    return check::Type::tuple(std::move(types));
  }
  const check::Program& program = query_.analysis.program;
  std::vector<const check::Workload*> all;
  // Of several workloads a study chooses one by the name `workload`.
  if (const ast::StudyDecl* around = declaredStudy())
    if (const check::Study* study = checkedStudy(program, *around)) all.push_back(study->workload);
  for (const unsigned symbol : workloads_) all.push_back(checkedWorkload(program, names().symbols()[symbol].range));
  for (const check::Workload* workload : all)
    if (const int index = workload ? workload->findParameter(name) : -1; index >= 0)
      return workload->parameters[index].type;
  return check::Type::error();
}

check::Type Completion::typeAt(size_t first) const {
  if (textAt(first) == "bool") return check::Type::boolean();
  std::optional<unsigned> file = file_;
  if (kindAt(first + 1) == Token::Dot) {
    file = importedAs(textAt(first));
    first += 2;
  }
  if (const auto found = names().find(SymbolKind::Enum, textAt(first), file))
    for (const auto& type : query_.analysis.program.enums)
      if (type->range == names().symbols()[*found].range) return check::Type::of(*type);
  return check::Type::error();
}

void Completion::declared(SymbolKind kind, std::optional<unsigned> parent, const std::string& module) {
  static const std::map<SymbolKind, Kind> kKinds = {
      {SymbolKind::Enum, Kind::Enum},           {SymbolKind::Let, Kind::Constant},
      {SymbolKind::Workload, Kind::Class},      {SymbolKind::Parameter, Kind::Property},
      {SymbolKind::Metric, Kind::Field},        {SymbolKind::Factor, Kind::Variable},
      {SymbolKind::Comparison, Kind::Function}, {SymbolKind::Criterion, Kind::Event},
      {SymbolKind::Reference, Kind::Struct}};
  for (const check::Symbol& symbol : names().symbols()) {
    if (!parent || symbol.kind != kind || symbol.parent != parent) continue;
    const std::string name = module + symbol.name;
    propose(name, kKinds.at(kind), detailOf(query_.analysis, symbol), docOf(symbol),
            kind == SymbolKind::Workload ? name + "($0)" : "");
  }
}

// ---- places
// -----------------------------------------------------------------------------------------------------------

bool Completion::number() {
  const std::string_view written = query_.analysis.sources.text(context_.word);
  if (written.empty() || written[0] < '0' || written[0] > '9') return false;
  const size_t digits = written.find_first_not_of("0123456789.");
  check::Type type;
  // `size = 3|`, `factor size in { 3|`, `batch >= 3|`: the name tells which units fit.
  for (size_t at = size(); at > 0 && type.isError(); --at) type = typeOf(textAt(at - 1));
  units(type, written.substr(0, digits), context_.word);
  return true;
}

void Completion::units(const check::Type& type, std::string_view digits, source::Range range) {
  // Of a number without a unit, or of a rate, none is the obvious one.
  const auto fits = [&](const language::Unit& unit) {
    return type.kind == check::Type::Kind::Number && check::findDimension(unit.type) == type.dimension;
  };
  const auto& all = language::units();
  const bool any = std::none_of(all.begin(), all.end(), fits);
  for (const language::Unit& unit : all)
    if (any || fits(unit)) propose(std::string(digits) + std::string(unit.text), Kind::Unit, unit.type, "", "", range);
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
  const std::optional<unsigned> file = importedAs(owner);
  const bool use = kindAt(0) == Token::Workload;
  if (use) declared(SymbolKind::Workload, file);
  if (kindAt(0) == Token::Param || kindAt(0) == Token::Metric) declared(SymbolKind::Enum, file);
  if (!use) declared(SymbolKind::Let, file);
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
      return values(typeOf(nameBefore(kindAt(*open - 2) == Token::Not ? *open - 2 : *open - 1)));
  }
  if (at > from) {
    const Token sign = kindAt(at - 1);
    const bool compares = sign == Token::Equal || sign == Token::NotEqual || sign == Token::Less ||
                          sign == Token::LessEqual || sign == Token::Greater || sign == Token::GreaterEqual ||
                          sign == Token::In;
    if (compares) {
      const check::Type type = typeOf(nameBefore(at - 1));
      if (type.kind == check::Type::Kind::Enum) {
        // `in` wants a set.
        if (sign != Token::In) return values(type);
        return propose("{ … }", Kind::Snippet, "a set", "", "{ $0 }");
      }
    }
    const bool after_operand = parse::isWord(sign) || sign == Token::Number || sign == Token::RightParen ||
                               sign == Token::RightBrace || sign == Token::RightBracket || sign == Token::True ||
                               sign == Token::False || sign == Token::String;
    if (after_operand) {
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
  if (type.kind == check::Type::Kind::Bool) clauses({"true", "false"});
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
  for (const check::Symbol& symbol : names().symbols()) {
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
    if (const auto* checked = checkedWorkload(query_.analysis.program, names().symbols()[workload].range))
      for (const check::Metric& metric : checked->metrics)
        propose(metric.name, Kind::Field, metric.dimension.typeName(), metric.doc);
  }
}

void Completion::levelsOf(std::string_view name) {
  // The factor's own levels where it can be read, else what its type allows.
  const auto factor = names().find(SymbolKind::Factor, name, study_);
  const ast::Expr* levels =
      factor ? std::get<const ast::FactorDecl*>(names().symbols()[*factor].declaration)->levels.get() : nullptr;
  const auto* set = levels ? std::get_if<ast::SetExpr>(&levels->node) : nullptr;
  if (!set) return values(typeOf(name));
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

void Completion::types() {
  words(Role::Type, Kind::Class);
  withImported(SymbolKind::Enum);
}

void Completion::withImported(SymbolKind kind) {
  declared(kind, file_);
  for (const auto& [name, target] : root_->imports) declared(kind, fileOf(target), name + ".");
}

void Completion::functions() { words(Role::Comparison, Kind::Function); }

}  // namespace expc::lsp
