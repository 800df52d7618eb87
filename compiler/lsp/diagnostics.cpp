// What is wrong in a document.

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <set>

#include "compiler/lsp/features.h"

namespace expc::lsp {
namespace {

constexpr int kUnnecessary = 1;  // the protocol's tag for what could be left out

/// Whether a kind is about something that is there without use.
bool isUnnecessary(diag::Kind kind) {
  using enum diag::Kind;
  static constexpr diag::Kind kUseless[] = {UselessCoalesce, UnusedParameter, MeasuredTwice, UnusedDesign,
                                            UnusedReference, UnusedSetting,   UselessRule,   LevelNeverOccurs};
  return llvm::is_contained(kUseless, kind);
}

void reachable(const load::Module* module, std::set<const load::Module*>& seen) {
  if (!module || !seen.insert(module).second) return;
  for (const auto& [name, target] : module->imports) reachable(target, seen);
}

/// The import of the root through which a file is read.
source::Range importOf(const Query& query, source::FileId file) {
  source::Range unresolved;
  for (const ast::Import& import : query.analysis.program.modules.root().ast.imports) {
    const check::Occurrence* name = query.analysis.names().at(query.analysis.root, import.target_range.begin);
    if (!name) {
      unresolved = import.target_range;  // refused as a whole: it has no names
      continue;
    }
    std::set<const load::Module*> files;
    reachable(std::get<const load::Module*>(query.analysis.names().symbols()[name->symbol].declaration), files);
    for (const load::Module* module : files)
      if (module->ast.file == file) return import.target_range;
  }
  return unresolved;
}

/// A diagnostic as it is published at `range`, with notes that have a place as related ones.
llvm::json::Value published(const Query& query, const diag::Diagnostic& diagnostic, source::Range range,
                            std::string message, const std::vector<diag::Note>& notes) {
  llvm::json::Array related;
  for (const diag::Note& note : notes)
    if (!note.range.isValid())
      message += "\n" + note.message;
    else if (llvm::json::Value location = locationJson(query, note.range); location.getAsObject())
      related.push_back(llvm::json::Object{{"location", std::move(location)}, {"message", clean(note.message)}});
  if (!range.isValid()) range = {query.analysis.root, 0, 0};
  llvm::json::Object result = diagnosticJson(query, diagnostic, range, message);
  if (const auto page = query.workspace.explanation(diagnostic.kind))
    result["codeDescription"] = llvm::json::Object{{"href", *page}};
  if (isUnnecessary(diagnostic.kind)) result["tags"] = llvm::json::Array{kUnnecessary};
  if (!related.empty()) result["relatedInformation"] = std::move(related);
  return result;
}

}  // namespace

llvm::json::Array diagnostics(const Query& query) {
  diag::sortByPlace(query.analysis.said.diagnostics);
  llvm::json::Array result;
  std::set<uint32_t> files;
  for (const diag::Diagnostic& diagnostic : query.analysis.said.diagnostics) {
    const source::FileId file = diagnostic.range.file;
    if (!diagnostic.range.isValid() || file == query.analysis.root) {
      result.push_back(published(query, diagnostic, diagnostic.range, diagnostic.message, diagnostic.notes));
    } else if (diagnostic.severity == diag::Severity::Error &&
               files.insert(file.index).second) {  // the first of a file
      const source::Position at = query.analysis.sources.position(file, diagnostic.range.begin);
      result.push_back(published(
          query, diagnostic, importOf(query, file),
          fmt::format("{} has an error in line {}: {}", query.analysis.sources.name(file), at.line, diagnostic.message),
          {{diagnostic.range, diagnostic.message}}));
    }
  }
  return result;
}

}  // namespace expc::lsp
