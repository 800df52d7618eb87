#pragma once

// The ground floor of completion.cpp, which alone includes it: looks at the statement so far, resolves names by the
// checker's table of symbols, and makes proposals. Nothing here depends on which statement is being typed;
// completion.cpp decides that.
//
// Names come from the last compilation of the whole document, in which the statement being typed may be broken. Its own
// tokens are therefore read directly where its names matter.

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>

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
#include "compiler/parse/words.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "stdlib/stdlib.h"

namespace expc::editor {

using check::SymbolKind;
using parse::Token;
using words::Role;

/// The place, the symbols in its sight, and the proposals so far.
class Places {
 public:
  explicit Places(const Query& query)
      : query_(query),
        context_(contextAt(query.analysis.sources, query.analysis.tokens, query.offset)),
        root_(&query.analysis.program.modules.root()) {
    const source::FileId root = query.analysis.root;
    file_ = fileOf(root_);
    // The study and workload that hold the place may be half typed; if they could not be read, they have no symbol.
    if (context_.study != parse::kNone) study_ = symbols().declaredAt({root, context_.study, 0});
    if (context_.workload != parse::kNone) workload_ = symbols().declaredAt({root, context_.workload, 0});
    if (workload_) workloads_.insert(*workload_);
    const ast::StudyDecl* around = declaredStudy();
    if (const check::Study* study = around ? checkedStudy(query.analysis.program, *around) : nullptr) {
      for (const diag::Inclusion& part : study->parts)
        if (const auto found = symbols().declaredAt(part.declared)) parts_.push_back(*found);
      around = study->declaration;
    }
    if (around) addWorkloads(*around);
  }

 protected:
  // CompletionItemKind of the protocol.
  static constexpr int kFunction = 3, kField = 5, kVariable = 6, kClass = 7, kModule = 9, kProperty = 10, kUnit = 11,
                       kValue = 12, kEnum = 13, kKeyword = 14, kSnippet = 15, kEnumMember = 20, kConstant = 21,
                       kStruct = 22, kEvent = 23;

  const Query& query_;
  Context context_;
  const load::Module* root_;
  // The symbol of the document's module.
  std::optional<unsigned> file_;
  // The symbols of the study and the workload that hold the place, if they could be read.
  std::optional<unsigned> study_, workload_;
  // The symbols of the parts that the study uses.
  std::vector<unsigned> parts_;
  // The symbols of the workloads whose names are in sight.
  std::set<unsigned> workloads_;
  // Whether only items of a list stand between the slot's token and the place.
  bool direct_ = false;
  json::Array items_;
  // Labels that were proposed, so that each comes once.
  std::set<std::string> seen_;

  // ---- the statement so far

  std::string_view text(const parse::LexedToken& token) const { return query_.analysis.sources.text(token.range); }
  size_t size() const { return context_.statement.size(); }
  std::string_view textAt(size_t index) const { return index < size() ? text(context_.statement[index]) : ""; }
  Token kindAt(size_t index) const { return index < size() ? context_.statement[index].kind : Token::EndOfFile; }
  /// The text of the last token of the statement, or of one `back` tokens before; "" if there is none. Indices may run
  /// below zero: they wrap around to a number past the end.
  std::string_view last(size_t back = 0) const { return textAt(size() - 1 - back); }
  Token lastKind(size_t back = 0) const { return kindAt(size() - 1 - back); }

  /// Whether an operand ends before the place, so that none can begin there.
  bool afterOperand() const {
    const Token kind = lastKind();
    return parse::isWord(kind) || parse::closes(kind) || kind == Token::Number || kind == Token::String ||
           kind == Token::True || kind == Token::False;
  }

  /// The index of the innermost bracket of the statement that is open; nothing outside of brackets.
  std::optional<size_t> openBracket() const {
    unsigned closed = 0;
    for (size_t at = size(); at-- > 0;) {
      if (parse::closes(kindAt(at))) ++closed;
      if (parse::opens(kindAt(at)) && closed-- == 0) return at;
    }
    return std::nullopt;
  }

  /// The name that ends before token `end`; the names of its parts if it is that of a lockstep factor.
  std::vector<std::string> nameBefore(size_t end) const {
    if (end == 0 || kindAt(end - 1) != Token::RightParen) return {std::string(textAt(end - 1))};
    std::vector<std::string> parts;
    for (size_t at = end - 1; at > 0 && kindAt(at) != Token::LeftParen; --at)
      if (parse::isWord(kindAt(at))) parts.emplace(parts.begin(), textAt(at));
    return parts;
  }

  /// The name before the first token of a kind.
  std::vector<std::string> nameBefore(Token kind) const {
    return nameBefore(
        size_t(std::ranges::find(context_.statement, kind, &parse::LexedToken::kind) - context_.statement.begin()));
  }

  // ---- symbols

  const check::Names& symbols() const { return query_.analysis.names(); }

  /// The declaration of the study that holds the place; null if there is none or it could not be read.
  const ast::StudyDecl* declaredStudy() const {
    return study_ ? std::get<const ast::StudyDecl*>(symbols().symbols()[*study_].declaration) : nullptr;
  }

  /// The symbol of the module that is imported under a name.
  std::optional<unsigned> importedAs(std::string_view name) const {
    const auto module = root_->imports.find(name);
    return module == root_->imports.end() ? std::nullopt : fileOf(module->second);
  }

  /// The symbol of a module; nothing for null.
  std::optional<unsigned> fileOf(const load::Module* file) const {
    return file ? symbols().declaredAt({file->ast.file, 0, 0}) : std::nullopt;
  }

  /// Brings the workloads that a study uses into sight.
  void addWorkloads(const ast::StudyDecl& study) {
    for (const ast::WorkloadUse& use : study.workloads) {
      const source::Range name = use.name.parts.back().range;
      if (const check::Occurrence* used = symbols().at(name.file, name.begin); used && !used->declares)
        workloads_.insert(used->symbol);
    }
  }

  /// The type of the parameter with this name, or a tuple of the types of a lockstep factor's parts; the type Error if
  /// the name is unknown.
  check::Type typeOf(const std::vector<std::string>& name) const {
    if (name.size() != 1) {
      std::vector<check::Type> parts;
      for (const std::string& part : name) parts.push_back(typeOf({part}));
      return check::Type::tuple(std::move(parts));
    }
    const check::Program& program = query_.analysis.program;
    std::vector<const check::Workload*> all;
    // The study's own workload first: in a study with several workloads it has the factor `workload`, which chooses
    // between them.
    if (const ast::StudyDecl* around = declaredStudy())
      if (const check::Study* study = checkedStudy(program, *around)) all.push_back(study->workload);
    for (const unsigned symbol : workloads_) all.push_back(checkedWorkload(program, symbols().symbols()[symbol].range));
    for (const check::Workload* workload : all)
      if (const int index = workload ? workload->findParameter(name[0]) : -1; index >= 0)
        return workload->parameters[index].type;
    return check::Type::error();
  }

  /// The type in `param NAME : TYPE` if its values can be listed (bool, an enum); else the type Error.
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

  /// Proposes the symbols of a kind that are declared in `parent`. `module` is the prefix of their names, such as
  /// "image.".
  void declared(SymbolKind kind, std::optional<unsigned> parent, const std::string& module = "") {
    using enum SymbolKind;
    static const std::map<SymbolKind, int> kKinds = {{Enum, kEnum},           {Let, kConstant},    {Workload, kClass},
                                                     {Parameter, kProperty},  {Metric, kField},    {Factor, kVariable},
                                                     {Comparison, kFunction}, {Criterion, kEvent}, {Reference, kStruct},
                                                     {Part, kClass},          {Service, kClass}};
    if (!parent) return;
    const auto inside = [&](std::optional<unsigned> at) {
      return at == parent || (parent == study_ && at && is_contained(parts_, *at));
    };
    for (const check::Symbol& symbol : symbols().symbols()) {
      if (symbol.kind != kind || !inside(symbol.parent)) continue;
      const std::string name = module + symbol.name;
      propose(name, kKinds.at(kind), detailOf(query_.analysis, symbol), docOf(symbol),
              kind == Workload ? name + "($0)" : "");
    }
  }

  // ---- places

  /// Proposes the number that is being typed with each unit that fits; false if none is being typed.
  bool number() {
    const std::string_view written = query_.analysis.sources.text(context_.word);
    if (written.empty() || written[0] < '0' || written[0] > '9') return false;
    const std::string digits(written.substr(0, written.find_first_not_of("0123456789.")));
    check::Type type;
    // The nearest name before the number whose type is known tells which units fit: `size = 3|`, `factor size in { 3|`,
    // `batch >= 3|`.
    for (size_t at = size(); at > 0 && type.isError(); --at) type = typeOf({std::string(textAt(at - 1))});
    // Numbers without a unit and rates have no unit of their own here: then all are proposed.
    const auto fits = [&](const words::Unit& unit) {
      return type.isNumber() && check::findDimension(unit.type) == type.dimension;
    };
    // If no unit has the type's dimension (numbers without a unit, rates), all are proposed.
    const bool any = std::ranges::none_of(words::units(), fits);
    for (const words::Unit& unit : words::units())
      if (any || fits(unit)) propose(digits + std::string(unit.text), kUnit, unit.type, "");
    return true;
  }

  /// Proposes names behind a dot; false if the place is not right behind one.
  bool member() {
    if (lastKind() != Token::Dot || size() < 2 || context_.statement.back().range.end != context_.word.begin)
      return false;
    const std::string owner(last(1));
    const Token head = kindAt(0);
    // A property of a machine with two dots, such as `system.gpu.memory`, or a setting in `design.timed.repeat`.
    if (lastKind(2) == Token::Dot || context_.block == parse::Rule::SystemBody) {
      for (const words::Word& property : words::words(Role::Property))
        if (property.text.starts_with(owner + "."))
          propose(property.text.substr(owner.size() + 1), kProperty, property.type, property.doc);
      if (words::find(Role::Kind, owner)) words(Role::Setting, kProperty, words::Stepped | words::Whole);
    } else if (owner == "std" && head == Token::Import) {
      modules("");
    } else if (owner == "system") {
      words(Role::Property, kProperty);
    } else if (owner == "design") {
      for (const Role role : {Role::Kind, Role::Setting})
        for (const words::Word& one : words::words(role)) propose(one.text, kProperty, "", one.doc);
    } else {
      const std::optional<unsigned> file = importedAs(owner);
      const bool enums = head == Token::Param || head == Token::Metric;
      if (last(2) == "like") return declared(SymbolKind::Reference, file), true;
      if (head == Token::Workload) return declared(SymbolKind::Workload, file), true;
      if (head == Token::Use) return declared(SymbolKind::Part, file), true;
      if (head == Token::Service) return declared(SymbolKind::Service, file), true;
      if (enums) declared(SymbolKind::Enum, file);
      declared(SymbolKind::Let, file);
    }
    return true;
  }

  /// Proposes values of a type: levels of an enum, `true` and `false`, names of constants.
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
    if (type.isEnum()) {
      const check::EnumType& levels = *type.enumeration;
      for (const check::EnumType::Level& level : levels.levels)
        propose(level.name, kEnumMember, levels.name, levels.doc, level.fields.empty() ? "" : level.name + "($0)");
      return;
    }
    if (type.kind == check::Type::Kind::Bool) words({"true", "false"});
    lets();
  }

  /// Proposes constants in sight, and modules that have some.
  void lets() {
    for (const auto& parent : {workload_, study_, file_}) declared(SymbolKind::Let, parent);
    declared(SymbolKind::Parameter, study_);
    for (const auto& [name, target] : root_->imports)
      if (target && !target->ast.lets.empty()) propose(name, kModule, "module", "");
  }

  /// Proposes the factors of the study.
  void factors() {
    declared(SymbolKind::Factor, study_);
    if (const ast::StudyDecl* around = declaredStudy(); around && around->workloads.size() > 1)
      propose("workload", kVariable, "factor", "The workloads of this study.");
  }

  /// Proposes the parameters of all workloads in sight, except those named.
  void parameters(const std::vector<std::string>& without = {}) {
    const bool argument = openBracket() && kindAt(0) == Token::Workload;
    for (const check::Symbol& symbol : symbols().symbols()) {
      if (symbol.kind != SymbolKind::Parameter || !workloads_.contains(*symbol.parent)) continue;
      if (is_contained(without, symbol.name)) continue;
      propose(symbol.name, kProperty, detailOf(query_.analysis, symbol), docOf(symbol),
              argument ? symbol.name + " = $0" : "");
    }
  }

  /// Proposes metrics in sight, and comparisons of the study if asked for.
  void metrics(bool comparisons) {
    if (comparisons) declared(SymbolKind::Comparison, study_);
    declared(SymbolKind::Metric, study_);
    for (const unsigned workload : workloads_) {
      declared(SymbolKind::Metric, workload);
      // Metrics that a workload takes from a module (`metric NAME.*`) are declared elsewhere, but are in the checked
      // form.
      if (const auto* checked = checkedWorkload(query_.analysis.program, symbols().symbols()[workload].range))
        for (const check::Metric& metric : checked->metrics)
          propose(metric.name, kField, metric.dimension.typeName(), metric.doc);
    }
  }

  /// Proposes levels of a factor: its own if they are written as a set, else all values of its type.
  void levelsOf(const std::vector<std::string>& name) {
    // The factor's own levels where it can be read, else what its type allows.
    const std::string written = name.size() == 1 ? name[0] : fmt::format("({})", fmt::join(name, ", "));
    const auto factor = symbols().find(SymbolKind::Factor, written, study_);
    const ast::Expr* levels =
        factor ? std::get<const ast::FactorDecl*>(symbols().symbols()[*factor].declaration)->levels.get() : nullptr;
    const auto* set = levels ? levels->as<ast::SetExpr>() : nullptr;
    if (!set) return values(typeOf(name));
    for (const ast::ExprPtr& element : set->elements)
      propose(query_.analysis.sources.text(element->range), kValue, "level", "");
  }

  /// Proposes types.
  void types() {
    words(Role::Type, kClass);
    if (lastKind() != Token::Slash && kindAt(0) != Token::Metric) imported(SymbolKind::Enum);
  }

  /// Proposes the modules of the standard library.
  void modules(std::string_view prefix) {
    for (const std::string_view name : stdlib::names())
      propose(std::string(prefix) + std::string(name), kModule, "built in", "");
  }

  /// Proposes symbols of a kind that this file declares, and those of imported modules with the module's name in front.
  void imported(SymbolKind kind) {
    declared(kind, file_);
    for (const auto& [name, target] : root_->imports) declared(kind, fileOf(target), name + ".");
  }

  // ---- proposing

  /// Proposes a word of the language.
  void word(const words::Word& word, int kind) { propose(word.text, kind, "", word.doc, word.snippet); }

  /// Proposes the words of a role; only those of certain blocks if `blocks` names some.
  void words(Role role, int kind, uint8_t blocks = words::Anywhere) {
    for (const words::Word& one : words::words(role))
      if (blocks == words::Anywhere || one.blocks & blocks) word(one, kind);
  }

  void words(std::initializer_list<std::string_view> texts, int kind = kKeyword) {
    for (const std::string_view text : texts) word(*words::find(text), kind);
  }

  /// Adds a proposal, unless its label is there already. The edit replaces the word that is being typed; a snippet is
  /// used only if the client can fill it in.
  void propose(std::string_view label, int kind, std::string_view detail, std::string_view doc,
               std::string_view snippet = "") {
    if (!seen_.insert(std::string(label)).second) return;
    const bool filled = query_.workspace.snippets && !snippet.empty();
    json::Object item{{"label", jsonText(label)}, {"kind", kind}};
    item["textEdit"] = editJson(query_, context_.word, filled ? snippet : label);
    if (filled) item["insertTextFormat"] = 2;  // Snippet
    if (!detail.empty()) item["detail"] = jsonText(detail);
    if (!doc.empty()) item["documentation"] = json::Object{{"kind", "markdown"}, {"value", jsonText(doc)}};
    items_.push_back(std::move(item));
  }
};

}  // namespace expc::editor
