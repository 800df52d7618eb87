// The protocol's basic shapes.

#include "compiler/lsp/features.h"

namespace expc::lsp {

namespace {

llvm::json::Value toJson(Position position) {
  return llvm::json::Object{{"line", position.line}, {"character", position.character}};
}

}  // namespace

llvm::json::Value rangeJson(Workspace& workspace, Analysis& analysis, source::Range range) {
  const LineIndex& lines = analysis.lines(range.file);
  return llvm::json::Object{{"start", toJson(lines.position(range.begin, workspace.encoding))},
                            {"end", toJson(lines.position(range.end, workspace.encoding))}};
}

llvm::json::Value editJson(const Query& query, source::Range range, std::string_view text) {
  return llvm::json::Object{{"range", rangeJson(query.workspace, query.analysis, range)}, {"newText", clean(text)}};
}

llvm::json::Value changesJson(const Query& query, llvm::json::Array edits) {
  return llvm::json::Object{
      {"changes", llvm::json::Object{{llvm::json::ObjectKey(clean(query.document.uri())), std::move(edits)}}}};
}

llvm::json::Object diagnosticJson(Workspace& workspace, Analysis& analysis, const diag::Diagnostic& diagnostic,
                                  source::Range range, std::string_view message) {
  return llvm::json::Object{{"range", rangeJson(workspace, analysis, range)},
                            {"severity", diagnostic.severity == diag::Severity::Error ? 1 : 2},
                            {"code", llvm::StringRef(diag::code(diagnostic.kind))},
                            {"source", "expc"},
                            {"message", clean(message)}};
}

llvm::json::Value locationJson(Workspace& workspace, Analysis& analysis, source::Range range) {
  const std::optional<std::string> uri = workspace.uri(analysis, range.file);
  if (!uri) return nullptr;
  return llvm::json::Object{{"uri", clean(*uri)}, {"range", rangeJson(workspace, analysis, range)}};
}

std::string clean(std::string_view text) { return llvm::json::fixUTF8(llvm::StringRef(text)); }

}  // namespace expc::lsp
