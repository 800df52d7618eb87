// Mends: the fix-its of diagnostics.

#include <fmt/format.h>

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
  for (const diag::FixIt& fix : fixes)
    result.push_back(llvm::json::Object{{"range", rangeJson(query.workspace, query.analysis, fix.range)},
                                        {"newText", clean(fix.replacement)}});
  return result;
}

bool allHere(const Query& query, const diag::Diagnostic& diagnostic) {
  for (const diag::FixIt& fix : diagnostic.fixes)
    if (fix.range.file != query.analysis.root) return false;
  return !diagnostic.fixes.empty() && diagnostic.range.file == query.analysis.root;
}

llvm::json::Object action(const Query& query, std::string title, std::string_view kind, llvm::json::Array edits) {
  return llvm::json::Object{
      {"title", clean(title)},
      {"kind", llvm::StringRef(kind)},
      {"edit", llvm::json::Object{{"changes", llvm::json::Object{{llvm::json::ObjectKey(clean(query.document.uri())),
                                                                  std::move(edits)}}}}}};
}

bool overlaps(const diag::FixIt& one, const diag::FixIt& other) {
  return one.range.begin < other.range.end && other.range.begin < one.range.end;
}

}  // namespace

llvm::json::Value actions(const Query& query, uint32_t end) {
  llvm::json::Array result;
  std::vector<diag::FixIt> all;
  for (const diag::Diagnostic& diagnostic : query.analysis.diagnostics) {
    if (!allHere(query, diagnostic)) continue;
    bool free = true;
    for (const diag::FixIt& fix : diagnostic.fixes)
      for (const diag::FixIt& other : all) free &= !overlaps(fix, other) && !(fix.range == other.range);
    if (free) all.insert(all.end(), diagnostic.fixes.begin(), diagnostic.fixes.end());
    if (diagnostic.range.end < query.offset || diagnostic.range.begin > end) continue;
    llvm::json::Object mend = action(query, title(query, diagnostic), "quickfix", edits(query, diagnostic.fixes));
    mend["isPreferred"] = true;
    mend["diagnostics"] =
        llvm::json::Array{llvm::json::Object{{"range", rangeJson(query.workspace, query.analysis, diagnostic.range)},
                                             {"severity", diagnostic.severity == diag::Severity::Error ? 1 : 2},
                                             {"code", llvm::StringRef(diag::code(diagnostic.kind))},
                                             {"source", "expc"},
                                             {"message", clean(diagnostic.message)}}};
    result.push_back(std::move(mend));
  }
  if (!all.empty()) result.push_back(action(query, "Mend all", "source.fixAll", edits(query, all)));
  return result;
}

}  // namespace expc::lsp
