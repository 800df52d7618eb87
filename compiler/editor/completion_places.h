#pragma once

// A part of completion.cpp, which alone includes it: what may stand in a place, whatever the statement around it.

#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/check/value/dimension.h"
#include "compiler/editor/features.h"
#include "compiler/language/words.h"
#include "stdlib/stdlib.h"

namespace expc::editor {

using check::SymbolKind;
using language::Role;
using parse::Token;

class Places {
 public:
  explicit Places(const Query& query)
      : query_(query),
        context_(contextAt(query.analysis.sources, query.analysis.tokens, query.offset)),
        root_(&query.analysis.program.modules.root()) {
    const source::FileId root = query.analysis.root;
    file_ = fileOf(root_);
    if (context_.study != parse::kNone) study_ = symbols().declaredAt({root, context_.study, 0});
    if (context_.workload != parse::kNone) workload_ = symbols().declaredAt({root, context_.workload, 0});
    if (workload_) workloads_.insert(*workload_);
    if (const ast::StudyDecl* around = declaredStudy()) addWorkloads(*around);
  }

 protected:
  // The protocol's kinds of proposal.
  static constexpr int kFunction = 3, kField = 5, kVariable = 6, kClass = 7, kModule = 9, kProperty = 10, kUnit = 11,
                       kValue = 12, kEnum = 13, kKeyword = 14, kSnippet = 15, kEnumMember = 20, kConstant = 21,
                       kStruct = 22, kEvent = 23;

  const Query& query_;
  Context context_;
  const load::Module* root_;
  std::optional<unsigned> file_;              // symbols: the document, …
  std::optional<unsigned> study_, workload_;  // … what holds the place, as far as it could be read, …
  std::set<unsigned> workloads_;              // … the workloads whose names are in sight
  bool direct_ = false;  // nothing but items of a list stands between the slot's token and the place
  llvm::json::Array items_;
  std::set<std::string> seen_;

  // ---- the statement so far

  std::string_view text(const parse::LexedToken& token) const { return query_.analysis.sources.text(token.range); }
  size_t size() const { return context_.statement.size(); }
  std::string_view textAt(size_t index) const { return index < size() ? text(context_.statement[index]) : ""; }
  Token kindAt(size_t index) const { return index < size() ? context_.statement[index].kind : Token::EndOfFile; }
  std::string_view last(size_t back = 0) const { return textAt(size() - 1 - back); }
  Token lastKind(size_t back = 0) const { return kindAt(size() - 1 - back); }

  /// Whether an operand ends before the place, so that none can begin there.
  bool afterOperand() const {
    const Token kind = lastKind();
    return parse::isWord(kind) || parse::closes(kind) || kind == Token::Number || kind == Token::String ||
           kind == Token::True || kind == Token::False;
  }

  /// The innermost bracket that is open, or nothing.
  std::optional<size_t> openBracket() const {
    unsigned closed = 0;
    for (size_t at = size(); at-- > 0;) {
      if (parse::closes(kindAt(at))) ++closed;
      if (parse::opens(kindAt(at)) && closed-- == 0) return at;
    }
    return std::nullopt;
  }

  /// The name that ends before token `end`, or the parts of a lockstep one.
  std::vector<std::string> nameBefore(size_t end) const {
    if (end == 0 || kindAt(end - 1) != Token::RightParen) return {std::string(textAt(end - 1))};
    std::vector<std::string> parts;
    for (size_t at = end - 1; at > 0 && kindAt(at) != Token::LeftParen; --at)
      if (parse::isWord(kindAt(at))) parts.emplace(parts.begin(), textAt(at));
    return parts;
  }

  /// That before the first token of a kind.
  std::vector<std::string> nameBefore(Token kind) const {
    return nameBefore(static_cast<size_t>(std::ranges::find(context_.statement, kind, &parse::LexedToken::kind) -
                                          context_.statement.begin()));
  }

  // ---- symbols

  const check::Names& symbols() const { return query_.analysis.names(); }

  /// Of study_, or null.
  const ast::StudyDecl* declaredStudy() const {
    return study_ ? std::get<const ast::StudyDecl*>(symbols().symbols()[*study_].declaration) : nullptr;
  }

  std::optional<unsigned> importedAs(std::string_view name) const {
    const auto module = root_->imports.find(name);
    return module == root_->imports.end() ? std::nullopt : fileOf(module->second);
  }

  std::optional<unsigned> fileOf(const load::Module* file) const {
    return file ? symbols().declaredAt({file->ast.file, 0, 0}) : std::nullopt;
  }

  void addWorkloads(const ast::StudyDecl& study) {
    for (const ast::WorkloadUse& use : study.workloads) {
      const source::Range name = use.name.parts.back().range;
      if (const check::Occurrence* used = symbols().at(name.file, name.begin); used && !used->declares)
        workloads_.insert(used->symbol);
    }
  }

  /// The type of a name in sight, or of a lockstep one's parts; of type Error if it is unknown.
  check::Type typeOf(const std::vector<std::string>& name) const {
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

  /// The type in `param NAME : TYPE`, if it has values of its own.
  check::Type typeBehindColon() const {
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

  /// What is declared inside of `parent`, behind the name of its module and a dot if that is given.
  void declared(SymbolKind kind, std::optional<unsigned> parent, const std::string& module = "") {
    static const std::map<SymbolKind, int> kKinds = {
        {SymbolKind::Enum, kEnum},           {SymbolKind::Let, kConstant},    {SymbolKind::Workload, kClass},
        {SymbolKind::Parameter, kProperty},  {SymbolKind::Metric, kField},    {SymbolKind::Factor, kVariable},
        {SymbolKind::Comparison, kFunction}, {SymbolKind::Criterion, kEvent}, {SymbolKind::Reference, kStruct}};
    for (const check::Symbol& symbol : symbols().symbols()) {
      if (!parent || symbol.kind != kind || symbol.parent != parent) continue;
      const std::string name = module + symbol.name;
      propose(name, kKinds.at(kind), detailOf(query_.analysis, symbol), docOf(symbol),
              kind == SymbolKind::Workload ? name + "($0)" : "");
    }
  }

  // ---- places

  /// Where a unit is being typed.
  bool number() {
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
      if (any || fits(unit)) propose(digits + std::string(unit.text), kUnit, unit.type, "");
    return true;
  }

  /// A name after a dot.
  bool member() {
    if (lastKind() != Token::Dot || size() < 2 || context_.statement.back().range.end != context_.word.begin)
      return false;
    const std::string owner(last(1));
    const Token head = kindAt(0);
    if (lastKind(2) == Token::Dot || context_.block == parse::Rule::SystemBody) {
      for (const language::Word& property : language::words(Role::Property))
        if (property.text.starts_with(owner + "."))
          propose(property.text.substr(owner.size() + 1), kProperty, property.type, property.doc);
      if (language::find(Role::Kind, owner)) words(Role::Setting, kProperty, language::Stepped | language::Whole);
    } else if (owner == "std" && head == Token::Import) {
      modules("");
    } else if (owner == "system") {
      words(Role::Property, kProperty);
    } else if (owner == "design") {
      for (const Role role : {Role::Kind, Role::Setting})
        for (const language::Word& one : language::words(role)) propose(one.text, kProperty, "", one.doc);
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

  void values(const check::Type& type) {
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
        propose(level.name, kEnumMember, levels.name, levels.doc, level.fields.empty() ? "" : level.name + "($0)");
      return;
    }
    if (type.kind == check::Type::Kind::Bool) words({"true", "false"});
    lets();
  }

  void lets() {
    for (const auto& parent : {workload_, study_, file_}) declared(SymbolKind::Let, parent);
    for (const auto& [name, target] : root_->imports)
      if (target && !target->ast.lets.empty()) propose(name, kModule, "module", "");
  }

  void factors() {
    declared(SymbolKind::Factor, study_);
    if (const ast::StudyDecl* around = declaredStudy(); around && around->workloads.size() > 1)
      propose("workload", kVariable, "factor", "The workloads of this study.");
  }

  void parameters(const std::vector<std::string>& without = {}) {
    const bool argument = openBracket() && kindAt(0) == Token::Workload;
    for (const check::Symbol& symbol : symbols().symbols()) {
      if (symbol.kind != SymbolKind::Parameter || !workloads_.contains(*symbol.parent)) continue;
      if (std::find(without.begin(), without.end(), symbol.name) != without.end()) continue;
      propose(symbol.name, kProperty, detailOf(query_.analysis, symbol), docOf(symbol),
              argument ? symbol.name + " = $0" : "");
    }
  }

  void metrics(bool comparisons) {
    if (comparisons) declared(SymbolKind::Comparison, study_);
    declared(SymbolKind::Metric, study_);
    for (const unsigned workload : workloads_) {
      declared(SymbolKind::Metric, workload);
      // Those that it takes from a module are declared elsewhere.
      if (const auto* checked = checkedWorkload(query_.analysis.program, symbols().symbols()[workload].range))
        for (const check::Metric& metric : checked->metrics)
          propose(metric.name, kField, metric.dimension.typeName(), metric.doc);
    }
  }

  void levelsOf(const std::vector<std::string>& name) {
    // The factor's own levels where it can be read, else what its type allows.
    const std::string written = name.size() == 1 ? name[0] : fmt::format("({})", fmt::join(name, ", "));
    const auto factor = symbols().find(SymbolKind::Factor, written, study_);
    const ast::Expr* levels =
        factor ? std::get<const ast::FactorDecl*>(symbols().symbols()[*factor].declaration)->levels.get() : nullptr;
    const auto* set = levels ? std::get_if<ast::SetExpr>(&levels->node) : nullptr;
    if (!set) return values(typeOf(name));
    for (const ast::ExprPtr& element : set->elements)
      propose(query_.analysis.sources.text(element->range), kValue, "level", "");
  }

  void types() {
    words(Role::Type, kClass);
    if (lastKind() != Token::Slash && kindAt(0) != Token::Metric) imported(SymbolKind::Enum);
  }

  void modules(std::string_view prefix) {
    for (const std::string_view name : stdlib::names())
      propose(std::string(prefix) + std::string(name), kModule, "built in", "");
  }

  /// Of this file, and of others behind the module's name.
  void imported(SymbolKind kind) {
    declared(kind, file_);
    for (const auto& [name, target] : root_->imports) declared(kind, fileOf(target), name + ".");
  }

  // ---- proposing

  void word(const language::Word& word, int kind) { propose(word.text, kind, "", word.doc, word.snippet); }

  void words(Role role, int kind, uint8_t blocks = language::Anywhere) {
    for (const language::Word& one : language::words(role))
      if (blocks == language::Anywhere || one.blocks & blocks) word(one, kind);
  }

  void words(std::initializer_list<std::string_view> texts, int kind = kKeyword) {
    for (const std::string_view text : texts) word(*language::find(text), kind);
  }

  void propose(std::string_view label, int kind, std::string_view detail, std::string_view doc,
               std::string_view snippet = "") {
    if (!seen_.insert(std::string(label)).second) return;
    const bool filled = query_.workspace.snippets && !snippet.empty();
    llvm::json::Object item{{"label", jsonText(label)}, {"kind", kind}};
    item["textEdit"] = editJson(query_, context_.word, filled ? snippet : label);
    if (filled) item["insertTextFormat"] = 2;
    if (!detail.empty()) item["detail"] = jsonText(detail);
    if (!doc.empty()) item["documentation"] = llvm::json::Object{{"kind", "markdown"}, {"value", jsonText(doc)}};
    items_.push_back(std::move(item));
  }
};

}  // namespace expc::editor
