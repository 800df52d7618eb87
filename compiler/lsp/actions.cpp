// Mends: the fix-its of diagnostics.

#include <fmt/format.h>

#include <algorithm>

#include "compiler/diag/fixes.h"
#include "compiler/lsp/features.h"

namespace expc::lsp {
namespace {

std::string shortened(std::string_view text) {
  constexpr size_t kMost = 40;
  if (text.size() <= kMost && text.find('\n') == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, std::min(text.find('\n'), kMost))) + "…";
}

std::string title(const Query& query, const diag::Diagnostic& diagnostic) {
  if (diagnostic.fixes.size() != 1) return fmt::format("Mend: {}", diagnostic.message);
  const diag::FixIt& fix = diagnostic.fixes[0];
  const std::string_view old = query.analysis.sources.text(fix.range);
  if (fix.replacement.empty()) return fmt::format("Remove '{}'", shortened(old));
  if (old.empty()) return fmt::format("Insert '{}'", shortened(fix.replacement));
  return fmt::format("Replace '{}' by '{}'", shortened(old), shortened(fix.replacement));
}

llvm::json::Array edits(const Query& query, const std::vector<diag::FixIt>& fixes) {
  llvm::json::Array result;
  for (const diag::FixIt& fix : fixes) result.push_back(editJson(query, fix.range, fix.replacement));
  return result;
}

bool allHere(const Query& query, const diag::Diagnostic& diagnostic) {
  for (const diag::FixIt& fix : diagnostic.fixes)
    if (fix.range.file != query.analysis.root) return false;
  return !diagnostic.fixes.empty() && diagnostic.range.file == query.analysis.root;
}

llvm::json::Object action(const Query& query, std::string title, std::string_view kind, llvm::json::Array edits) {
  return llvm::json::Object{
      {"title", clean(title)}, {"kind", llvm::StringRef(kind)}, {"edit", changesJson(query, std::move(edits))}};
}

}  // namespace

llvm::json::Value actions(const Query& query, uint32_t end) {
  llvm::json::Array result;
  for (const diag::Diagnostic& diagnostic : query.analysis.said.diagnostics) {
    if (!allHere(query, diagnostic)) continue;
    if (diagnostic.range.end < query.offset || diagnostic.range.begin > end) continue;
    llvm::json::Object mend = action(query, title(query, diagnostic), "quickfix", edits(query, diagnostic.fixes));
    // Editors carry out what is preferred without a look at it.
    if (diagnostic.fixes[0].applicability == diag::Applicability::Certain) mend["isPreferred"] = true;
    mend["diagnostics"] = llvm::json::Array{
        diagnosticJson(query.workspace, query.analysis, diagnostic, diagnostic.range, diagnostic.message)};
    result.push_back(std::move(mend));
  }
  const diag::FixSet all = diag::chooseFixes(query.analysis.said.diagnostics,
                                             [&](source::FileId file) { return file == query.analysis.root; });
  if (!all.edits.empty()) result.push_back(action(query, "Mend all", "source.fixAll", edits(query, all.edits)));
  return result;
}

}  // namespace expc::lsp
