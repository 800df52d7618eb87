// The formatter's text as an edit.

#include <algorithm>

#include "compiler/format/format.h"
#include "compiler/lsp/features.h"

namespace expc::lsp {

llvm::json::Value formatting(const Query& query) {
  if (!query.analysis.loaded) return nullptr;
  diag::Collector ignored;
  diag::Emitter emitter(ignored);
  const std::optional<std::string> formatted = format::format(query.analysis.sources, query.analysis.root, emitter);
  if (!formatted) return nullptr;
  // One edit from the first line that changes to the last.
  const std::string& old = query.document.text();
  if (*formatted == old) return llvm::json::Array{};
  size_t front = 0;
  const size_t shorter = std::min(old.size(), formatted->size());
  while (front < shorter && old[front] == (*formatted)[front]) ++front;
  while (front > 0 && old[front - 1] != '\n') --front;
  size_t back = 0;
  while (back < shorter - front && old[old.size() - 1 - back] == (*formatted)[formatted->size() - 1 - back]) ++back;
  while (back > 0 && old[old.size() - back - 1] != '\n') --back;
  const source::Range range{query.analysis.root, static_cast<uint32_t>(front),
                            static_cast<uint32_t>(old.size() - back)};
  return llvm::json::Array{editJson(query, range, formatted->substr(front, formatted->size() - back - front))};
}

}  // namespace expc::lsp
