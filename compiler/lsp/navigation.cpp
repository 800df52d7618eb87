// Where names are declared and used.

#include <set>
#include <tuple>

#include "compiler/lsp/features.h"

namespace expc::lsp {

using check::Names;
using check::Occurrence;
using check::Symbol;
using check::SymbolKind;

namespace {

/// Where a symbol is declared, so that it can be found again in another compilation.
struct Place {
  std::string file;
  uint32_t begin = 0;
  bool operator==(const Place&) const = default;
};

/// A file by the name that it has in every analysis, also where it is a built-in module shown on the disk.
std::string fileOf(Workspace& workspace, Analysis& analysis, source::FileId file) {
  return workspace.uri(analysis, file).value_or(std::string(analysis.sources.name(file)));
}

Place placeOf(Workspace& workspace, Analysis& analysis, const Symbol& symbol) {
  return {fileOf(workspace, analysis, symbol.range.file), symbol.range.begin};
}

/// The symbols of `analysis` that are `place`, or a factor that varies it.
std::set<unsigned> matching(Workspace& workspace, Analysis& analysis, const Place& place) {
  std::set<unsigned> result;
  const std::vector<Symbol>& symbols = analysis.names().symbols();
  for (unsigned id = 0; id < symbols.size(); ++id)
    if (symbols[id].range.begin == place.begin && placeOf(workspace, analysis, symbols[id]) == place) result.insert(id);
  for (unsigned id = 0; id < symbols.size(); ++id)
    if (const auto varies = symbols[id].varies; varies && result.contains(*varies)) result.insert(id);
  return result;
}

/// A study's own names can be changed: what is called by them stands in this file alone, apart from command lines.
bool canRename(const Names& names, const Symbol& symbol) {
  switch (symbol.kind) {
    case SymbolKind::Let:
      return names.symbols()[*symbol.parent].kind != SymbolKind::Module;
    case SymbolKind::Metric:
    case SymbolKind::Preset:
      return names.studyOf(symbol) != nullptr;
    case SymbolKind::Comparison:
    case SymbolKind::Control:
    case SymbolKind::Criterion:
    case SymbolKind::Rule:
    case SymbolKind::Label:
      return true;
    default:
      return false;
  }
}

/// What else a study calls by the name.
bool taken(const Names& names, const Symbol& symbol, const std::string& name) {
  for (const Symbol& other : names.symbols()) {
    const bool near = other.range.file == symbol.range.file && names.studyOf(other) == names.studyOf(symbol);
    const bool parameter = other.kind == SymbolKind::Parameter || other.kind == SymbolKind::Metric;
    if (other.name == name && (near || parameter || other.kind == SymbolKind::Let)) return true;
  }
  return false;
}

}  // namespace

llvm::json::Value definition(const Query& query) {
  const Occurrence* name = query.name();
  if (!name) return nullptr;
  const std::vector<Symbol>& symbols = query.analysis.names().symbols();
  const Symbol* symbol = &symbols[name->symbol];
  // From where a factor is declared, on to what it varies.
  if (name->declares && symbol->varies) symbol = &symbols[*symbol->varies];
  return locationJson(query.workspace, query.analysis, symbol->range);
}

llvm::json::Value references(const Query& query, bool with_declaration) {
  const Symbol* symbol = query.symbol();
  if (!symbol) return nullptr;
  const Place place = placeOf(query.workspace, query.analysis, *symbol);
  std::set<std::tuple<std::string, uint32_t, uint32_t>> seen;
  llvm::json::Array result;
  const auto collect = [&](Analysis& analysis) {
    const std::set<unsigned> wanted = matching(query.workspace, analysis, place);
    for (const Occurrence& found : analysis.names().occurrences()) {
      if (!wanted.contains(found.symbol)) continue;
      const Symbol& meant = analysis.names().symbols()[found.symbol];
      if (found.declares && !with_declaration && meant.range.begin == place.begin &&
          placeOf(query.workspace, analysis, meant) == place)
        continue;
      std::string file = fileOf(query.workspace, analysis, found.range.file);
      if (!seen.emplace(std::move(file), found.range.begin, found.range.end).second) continue;
      if (llvm::json::Value location = locationJson(query.workspace, analysis, found.range); location.getAsObject())
        result.push_back(std::move(location));
    }
  };
  collect(query.analysis);
  for (const auto& [uri, document] : query.workspace.documents())
    if (document.get() != &query.document) collect(query.workspace.analyse(*document));
  return result;
}

llvm::json::Value highlights(const Query& query) {
  const Occurrence* name = query.name();
  if (!name) return nullptr;
  llvm::json::Array result;
  for (const Occurrence& other : query.analysis.names().occurrences())
    if (other.symbol == name->symbol && other.range.file == query.analysis.root)
      result.push_back(llvm::json::Object{{"range", rangeJson(query.workspace, query.analysis, other.range)},
                                          {"kind", other.declares ? 3 : 2}});  // Write, Read
  return result;
}

llvm::json::Value prepareRename(const Query& query) {
  const Symbol* symbol = query.symbol();
  if (!symbol || !canRename(query.analysis.names(), *symbol)) return nullptr;
  return llvm::json::Object{
      {"range", rangeJson(query.workspace, query.analysis, query.name()->range)},
      {"placeholder", clean(symbol->name)},
  };
}

llvm::Expected<llvm::json::Value> rename(const Query& query, const std::string& name) {
  const Symbol* symbol = query.symbol();
  if (!symbol) return llvm::createStringError("there is no name here");
  const Names& names = query.analysis.names();
  if (!canRename(names, *symbol))
    return llvm::createStringError(
        "a " + std::string(toString(symbol->kind)) +
        " is renamed by hand: other files, results and command lines may call it by its name");
  if (!parse::isName(name))
    return llvm::createStringError("'" + clean(name) +
                                   "' is no name: letters, digits and _, and no word of the language");
  if (name != symbol->name && taken(names, *symbol, name))
    return llvm::createStringError("'" + name + "' is there already");
  if (!query.analysis.parsed)
    return llvm::createStringError("the file has syntax errors, so that not every use of the name is known");
  llvm::json::Array edits;
  for (const Occurrence& other : names.occurrences())
    if (&names.symbols()[other.symbol] == symbol && other.range.file == query.analysis.root)
      edits.push_back(editJson(query, other.range, name));
  return changesJson(query, std::move(edits));
}

}  // namespace expc::lsp
