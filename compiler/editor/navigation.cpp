// Where names are declared and used, renaming, and the outline of a document. All answers are read from the table of
// names that the checker makes (check::Names): every declaration with its place, and every use with the symbol that it
// means. There are no rules of scoping here.
//
// Symbols are numbers of one compilation. References are collected from several documents, each compiled by itself, so
// a symbol is found again there by the place of its declaration.

#include <map>
#include <set>
#include <tuple>

#include "compiler/editor/features.h"
#include "runtime/base/entry.h"
#include "runtime/base/failure.h"

namespace expc::editor {

using json::Array;
using json::Object;
using json::Value;

using check::Names;
using check::Occurrence;
using check::Symbol;
using check::SymbolKind;

namespace {

/// The place of a symbol's declaration, which identifies it in every compilation.
struct Location {
  std::string file;
  uint32_t begin = 0;
  bool operator==(const Location&) const = default;
};

/// A file's name in every analysis: its URI if it has one, so that a built-in module is the same file whether it is
/// opened from the cache or imported.
std::string fileOf(const Query& query, source::FileId file) {
  return query.workspace.uri(query.analysis, file).value_or(std::string(query.analysis.sources.name(file)));
}

Location locationOf(const Query& query, const Symbol& symbol) {
  return {fileOf(query, symbol.range.file), symbol.range.begin};
}

/// The symbols of an analysis that are declared at `place`, and the factors that vary them: references of a parameter
/// include those of its factors.
std::set<unsigned> matching(const Query& query, const Location& place) {
  std::set<unsigned> result;
  const std::vector<Symbol>& symbols = query.analysis.names().symbols();
  for (unsigned id = 0; id < symbols.size(); ++id)
    if (symbols[id].range.begin == place.begin && locationOf(query, symbols[id]) == place) result.insert(id);
  for (unsigned id = 0; id < symbols.size(); ++id)
    if (const auto varies = symbols[id].varies; varies && result.contains(*varies)) result.insert(id);
  return result;
}

/// Whether a symbol can be renamed. Only names that their study or part alone knows can: other names occur in files
/// that import this one, in stored results and on command lines, which an edit here does not reach.
bool canRename(const Names& names, const Symbol& symbol) {
  using enum SymbolKind;
  switch (symbol.kind) {
    case Let:
      return names.symbols()[*symbol.parent].kind != Module;
    case Metric:
    case Preset:
      return names.studyOf(symbol) != nullptr;
    case Comparison:
    case Control:
    case Criterion:
    case Rule:
    case Label:
      return true;
    default:
      return false;
  }
}

/// Whether a name is taken in the study of `symbol`. Parameters, metrics and constants count wherever they are
/// declared, since a study may see them.
bool taken(const Names& names, const Symbol& symbol, const std::string& name) {
  for (const Symbol& other : names.symbols()) {
    const bool near = other.range.file == symbol.range.file && names.studyOf(other) == names.studyOf(symbol);
    const bool parameter = other.kind == SymbolKind::Parameter || other.kind == SymbolKind::Metric;
    if (other.name == name && (near || parameter || other.kind == SymbolKind::Let)) return true;
  }
  return false;
}

/// The part of a declaration that tells most beside its name; invalid if there is none.
template <typename Declared>
source::Range tellingPart(const Declared&) {
  return {};
}
source::Range tellingPart(const ast::ParamDecl& param) { return param.type.range; }
source::Range tellingPart(const ast::MetricDecl& metric) { return metric.type ? metric.type->range : source::Range{}; }
source::Range tellingPart(const ast::FactorDecl& factor) {
  return factor.levels ? factor.levels->range : source::Range{};
}
source::Range tellingPart(const ast::CompareDecl& compare) { return compare.call_range; }
source::Range tellingPart(const ast::WorkloadUse& use) { return use.name.range; }

}  // namespace

const check::Study* checkedStudy(const check::Program& program, const ast::StudyDecl& declaration) {
  const source::Range name = declaration.name.range;
  for (const auto& study : program.studies)
    if (study->range == name || std::ranges::count(study->parts, name, &diag::Inclusion::declared) > 0)
      return study.get();
  return nullptr;
}

const check::Workload* checkedWorkload(const check::Program& program, source::Range name) {
  for (const auto& workload : program.workloads)
    if (workload->range == name) return workload.get();
  return nullptr;
}

/// The text at a range; "" if it is long or has several lines.
static std::string writtenShort(const Analysis& analysis, source::Range range) {
  constexpr size_t kMost = 60;
  const std::string_view written = analysis.sources.text(range);
  if (written.size() > kMost || written.find('\n') != std::string_view::npos) return "";
  return std::string(written);
}

std::string detailOf(const Analysis& analysis, const check::Symbol& symbol) {
  const source::Range part =
      std::visit([](const auto* declared) { return tellingPart(*declared); }, symbol.declaration);
  if (part.isValid()) return writtenShort(analysis, part);
  return symbol.kind == check::SymbolKind::Level ? "" : std::string(toString(symbol.kind));
}

std::string_view docOf(const check::Symbol& symbol) {
  return std::visit(
      [](const auto* declared) -> std::string_view {
        if constexpr (requires { declared->doc; }) return declared->doc;
        return "";
      },
      symbol.declaration);
}

Value definition(const Query& query) {
  const Occurrence* name = query.name();
  if (!name) return nullptr;
  const std::vector<Symbol>& symbols = query.analysis.names().symbols();
  const Symbol* symbol = &symbols[name->symbol];
  // A factor's name is also its declaration; from there the parameter that it varies is of more use.
  if (name->declares && symbol->varies) symbol = &symbols[*symbol->varies];
  return locationJson(query, symbol->range);
}

Value references(const Query& query, bool with_declaration) {
  const Symbol* symbol = query.symbol();
  if (!symbol) return nullptr;
  const Location place = locationOf(query, *symbol);
  std::set<std::tuple<std::string, uint32_t, uint32_t>> seen;
  Array result;
  // Adds the references in one compilation.
  const auto collect = [&](const Query& in) {
    const std::set<unsigned> wanted = matching(in, place);
    for (const Occurrence& found : in.analysis.names().occurrences()) {
      if (!wanted.contains(found.symbol)) continue;
      const Symbol& meant = in.analysis.names().symbols()[found.symbol];
      // Only the declaration itself is left out; the declaration of a factor is a use of its parameter.
      if (found.declares && !with_declaration && meant.range.begin == place.begin && locationOf(in, meant) == place)
        continue;
      // A module that several documents import is a part of each of their compilations.
      if (!seen.emplace(fileOf(in, found.range.file), found.range.begin, found.range.end).second) continue;
      if (Value location = locationJson(in, found.range); location.getAsObject()) result.push_back(std::move(location));
    }
  };
  collect(query);
  for (const auto& [uri, document] : query.workspace.documents())
    if (document.get() != &query.document) collect({query.workspace, *document, query.workspace.analyse(*document)});
  return result;
}

Value highlights(const Query& query) {
  const Occurrence* name = query.name();
  if (!name) return nullptr;
  Array result;
  for (const Occurrence& other : query.analysis.names().occurrences())
    if (other.symbol == name->symbol && other.range.file == query.analysis.root)
      result.push_back(Object{{"range", rangeJson(query, other.range)},
                              {"kind", other.declares ? 3 : 2}});  // DocumentHighlightKind: Write, Read
  return result;
}

Value prepareRename(const Query& query) {
  const Symbol* symbol = query.symbol();
  if (!symbol || !canRename(query.analysis.names(), *symbol)) return nullptr;
  return Object{
      {"range", rangeJson(query, query.name()->range)},
      {"placeholder", jsonText(symbol->name)},
  };
}

Expected<Value> rename(const Query& query, const std::string& name) {
  const Symbol* symbol = query.symbol();
  if (!symbol) return failure("no name here");
  const Names& names = query.analysis.names();
  if (!canRename(names, *symbol))
    return failure("a {} must be renamed by hand: other files, results and command lines may use its name",
                   toString(symbol->kind));
  if (!parse::isName(name))
    return failure("'{}' is not a name: use letters, digits and _, and not a word of the language", jsonText(name));
  if (name != symbol->name && taken(names, *symbol, name)) return failure("'{}' already exists", name);
  // The parser leaves broken statements out, and uses of the name in them would be missed.
  if (!query.analysis.parsed) return failure("the file has syntax errors, so expc does not know every use of the name");
  // A name of a part also stands in the studies that use it, which may be other documents.
  std::map<std::string, Array> edits;
  const Value found = references(query, true);
  for (const Value& one : *found.getAsArray())
    edits[one.getAsObject()->getString("uri")->str()].push_back(
        Object{{"range", *one.getAsObject()->get("range")}, {"newText", jsonText(name)}});
  Object changes;
  for (auto& [uri, some] : edits) changes[json::ObjectKey(uri)] = std::move(some);
  return Object{{"changes", std::move(changes)}};
}

// ---- the symbols of a document, as a tree

namespace {

/// The protocol's SymbolKind of a symbol, by which editors choose an icon.
int kindOf(SymbolKind kind) {
  using enum SymbolKind;
  static const std::map<SymbolKind, int> kKinds = {
      {Enum, 10},    {Level, 22},     {Unit, 14},   {Let, 14},    {Workload, 5},   {Service, 5}, {Parameter, 7},
      {Metric, 8},   {Rule, 25},      {Study, 2},   {Part, 2},    {Label, 5},      {Factor, 7},  {Comparison, 12},
      {Control, 13}, {Criterion, 20}, {Preset, 24}, {System, 19}, {Reference, 19},
  };
  return kKinds.at(kind);
}

/// The symbols that are declared in each symbol.
using Parts = std::map<unsigned, std::vector<unsigned>>;

/// An entry of the outline. `range` is what it covers, `name` what is selected when it is chosen.
Value shape(const Query& query, const ast::Identifier& name, source::Range range, int kind, std::string detail,
            Array children = {}) {
  // The protocol demands that the name's range lies inside the whole one, whatever was written.
  Object result{{"name", jsonText(name.name.empty() ? "?" : name.name)},
                {"kind", kind},
                {"range", rangeJson(query, source::join(range, name.range))},
                {"selectionRange", rangeJson(query, name.range)}};
  if (!detail.empty()) result["detail"] = jsonText(detail);
  if (!children.empty()) result["children"] = std::move(children);
  return result;
}

/// The entry of a symbol with its parts. Workloads that a study uses without a label declare no symbol, so they are
/// added by hand.
Value entry(const Query& query, const Parts& parts, unsigned id) {
  const Symbol& symbol = query.analysis.names().symbols()[id];
  Array children;
  if (const auto* study = std::get_if<const ast::StudyDecl*>(&symbol.declaration))
    for (const ast::WorkloadUse& use : (*study)->workloads)
      if (!use.label)
        children.push_back(shape(query, use.name.parts.back(), use.range, kindOf(SymbolKind::Label),
                                 writtenShort(query.analysis, use.name.range)));
  // The parts of a preset are changes of the study's own and would only repeat its names.
  if (const auto* found = entryOf(parts, id); found && symbol.kind != SymbolKind::Preset)
    for (const unsigned part : *found) children.push_back(entry(query, parts, part));
  return shape(query, {symbol.name, symbol.range}, symbol.whole, kindOf(symbol.kind), detailOf(query.analysis, symbol),
               std::move(children));
}

}  // namespace

Value outline(const Query& query) {
  const std::vector<Symbol>& symbols = query.analysis.names().symbols();
  Parts parts;
  for (unsigned id = 0; id < symbols.size(); ++id)
    if (symbols[id].parent) parts[*symbols[id].parent].push_back(id);
  Array result;
  if (const auto file = query.analysis.names().declaredAt({query.analysis.root, 0, 0}))
    for (const unsigned part : parts[*file]) result.push_back(entry(query, parts, part));
  return result;
}

}  // namespace expc::editor
