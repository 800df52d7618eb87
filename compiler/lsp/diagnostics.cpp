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

class Publisher {
 public:
  Publisher(Workspace& workspace, Analysis& analysis) : workspace_(workspace), analysis_(analysis) {}

  llvm::json::Array all() {
    diag::sortByPlace(analysis_.said.diagnostics);
    llvm::json::Array result;
    std::set<uint32_t> files;
    for (const diag::Diagnostic& diagnostic : analysis_.said.diagnostics) {
      const source::FileId file = diagnostic.range.file;
      if (!diagnostic.range.isValid() || file == analysis_.root) {
        result.push_back(own(diagnostic));
      } else if (diagnostic.severity == diag::Severity::Error && files.insert(file.index).second) {
        result.push_back(imported(diagnostic));  // the first of a file
      }
    }
    return result;
  }

 private:
  llvm::json::Object base(const diag::Diagnostic& diagnostic, source::Range range, std::string message) {
    if (!range.isValid()) range = {analysis_.root, 0, 0};
    llvm::json::Object result = diagnosticJson(workspace_, analysis_, diagnostic, range, message);
    if (const auto page = workspace_.explanation(diagnostic.kind))
      result["codeDescription"] = llvm::json::Object{{"href", *page}};
    if (isUnnecessary(diagnostic.kind)) result["tags"] = llvm::json::Array{kUnnecessary};
    return result;
  }

  void relate(llvm::json::Array& related, source::Range range, const std::string& message) {
    if (llvm::json::Value location = locationJson(workspace_, analysis_, range); location.getAsObject())
      related.push_back(llvm::json::Object{{"location", std::move(location)}, {"message", clean(message)}});
  }

  llvm::json::Value own(const diag::Diagnostic& diagnostic) {
    std::string message = diagnostic.message;
    llvm::json::Array related;
    for (const diag::Note& note : diagnostic.notes) {
      if (note.range.isValid())
        relate(related, note.range, note.message);
      else
        message += "\n" + note.message;
    }
    llvm::json::Object result = base(diagnostic, diagnostic.range, std::move(message));
    if (!related.empty()) result["relatedInformation"] = std::move(related);
    return result;
  }

  llvm::json::Value imported(const diag::Diagnostic& diagnostic) {
    const std::string_view name = analysis_.sources.name(diagnostic.range.file);
    const source::Position at = analysis_.sources.position(diagnostic.range.file, diagnostic.range.begin);
    llvm::json::Object result = base(diagnostic, importOf(diagnostic.range.file),
                                     fmt::format("{} has an error in line {}: {}", name, at.line, diagnostic.message));
    llvm::json::Array related;
    relate(related, diagnostic.range, diagnostic.message);
    if (!related.empty()) result["relatedInformation"] = std::move(related);
    return result;
  }

  /// The import of the root through which a file is read.
  source::Range importOf(source::FileId file) {
    source::Range unresolved;
    for (const ast::Import& import : analysis_.program.modules.root().ast.imports) {
      const check::Occurrence* name = analysis_.names().at(analysis_.root, import.target_range.begin);
      if (!name) {
        unresolved = import.target_range;  // refused as a whole: it has no names
        continue;
      }
      std::set<const load::Module*> files;
      reachable(std::get<const load::Module*>(analysis_.names().symbols()[name->symbol].declaration), files);
      for (const load::Module* module : files)
        if (module->ast.file == file) return import.target_range;
    }
    return unresolved;
  }

  Workspace& workspace_;
  Analysis& analysis_;
};

}  // namespace

llvm::json::Array diagnostics(Workspace& workspace, const Document& document, Analysis& analysis) {
  return Publisher(workspace, analysis).all();
}

}  // namespace expc::lsp
