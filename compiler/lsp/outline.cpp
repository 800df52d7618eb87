// The symbols of a document, as a tree.

#include <map>

#include "compiler/lsp/facts.h"
#include "compiler/lsp/features.h"

namespace expc::lsp {
namespace {

using check::Symbol;
using check::SymbolKind;

/// The protocol's kind of a symbol.
int kindOf(SymbolKind kind) {
  static const std::map<SymbolKind, int> kKinds = {
      {SymbolKind::Enum, 10},      {SymbolKind::Level, 22},     {SymbolKind::Unit, 14},   {SymbolKind::Let, 14},
      {SymbolKind::Workload, 5},   {SymbolKind::Parameter, 7},  {SymbolKind::Metric, 8},  {SymbolKind::Rule, 25},
      {SymbolKind::Study, 2},      {SymbolKind::Label, 5},      {SymbolKind::Factor, 7},  {SymbolKind::Comparison, 12},
      {SymbolKind::Control, 13},   {SymbolKind::Criterion, 20}, {SymbolKind::Preset, 24}, {SymbolKind::System, 19},
      {SymbolKind::Reference, 19},
  };
  return kKinds.at(kind);
}

class Outline {
 public:
  explicit Outline(const Query& query) : query_(query), symbols_(query.analysis.names().symbols()) {}

  llvm::json::Array all() {
    for (unsigned id = 0; id < symbols_.size(); ++id)
      if (symbols_[id].parent) parts_[*symbols_[id].parent].push_back(id);
    llvm::json::Array result;
    if (const auto file = query_.analysis.names().declaredAt({query_.analysis.root, 0, 0}))
      for (const unsigned part : parts_[*file]) result.push_back(entry(part));
    return result;
  }

 private:
  llvm::json::Value entry(unsigned id) {
    const Symbol& symbol = symbols_[id];
    llvm::json::Array children;
    if (const auto* study = std::get_if<const ast::StudyDecl*>(&symbol.declaration))
      for (const ast::WorkloadUse& use : (*study)->workloads)
        if (!use.label)
          children.push_back(shape(use.name.parts.back(), use.range, kindOf(SymbolKind::Label),
                                   writtenShort(query_.analysis, use.name.range)));
    if (symbol.kind != SymbolKind::Preset)
      for (const unsigned part : parts_[id]) children.push_back(entry(part));
    return shape({symbol.name, symbol.range}, symbol.whole, kindOf(symbol.kind), detailOf(query_.analysis, symbol),
                 std::move(children));
  }

  llvm::json::Value shape(const ast::Identifier& name, source::Range range, int kind, std::string detail,
                          llvm::json::Array children = {}) {
    // The name's range lies inside the whole one, whatever was written.
    llvm::json::Object result{{"name", clean(name.name.empty() ? "?" : name.name)},
                              {"kind", kind},
                              {"range", rangeJson(query_.workspace, query_.analysis, source::join(range, name.range))},
                              {"selectionRange", rangeJson(query_.workspace, query_.analysis, name.range)}};
    if (!detail.empty()) result["detail"] = clean(detail);
    if (!children.empty()) result["children"] = std::move(children);
    return result;
  }

  const Query& query_;
  const std::vector<Symbol>& symbols_;
  std::map<unsigned, std::vector<unsigned>> parts_;  // of a symbol those that are declared in it
};

}  // namespace

llvm::json::Value outline(const Query& query) { return Outline(query).all(); }

}  // namespace expc::lsp
