// The protocol's basic shapes.

#include "compiler/lsp/features.h"

namespace expc::lsp {

llvm::json::Value toJson(Position position) {
  return llvm::json::Object{{"line", position.line}, {"character", position.character}};
}

llvm::json::Value rangeJson(Workspace& workspace, Analysis& analysis, source::Range range) {
  const LineIndex& lines = analysis.lines(range.file);
  return llvm::json::Object{{"start", toJson(lines.position(range.begin, workspace.encoding))},
                            {"end", toJson(lines.position(range.end, workspace.encoding))}};
}

llvm::json::Value locationJson(Workspace& workspace, Analysis& analysis, source::Range range) {
  const std::optional<std::string> uri = workspace.uri(analysis, range.file);
  if (!uri) return nullptr;
  return llvm::json::Object{{"uri", clean(*uri)}, {"range", rangeJson(workspace, analysis, range)}};
}

std::string clean(std::string_view text) { return llvm::json::fixUTF8(llvm::StringRef(text)); }

}  // namespace expc::lsp
