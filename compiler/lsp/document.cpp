#include "compiler/lsp/document.h"

#include <algorithm>

namespace expc::lsp {

Document::Document(std::string uri, std::string path, int64_t version, std::string text)
    : uri_(std::move(uri)), path_(std::move(path)), version_(version), text_(std::move(text)), lines_(text_) {}

void Document::replaceAll(std::string text) {
  text_ = std::move(text);
  lines_ = LineIndex(text_);
}

void Document::replace(Position begin, Position end, std::string_view text, Encoding encoding) {
  const size_t first = lines_.offset(begin, encoding);
  const size_t last = std::max(first, lines_.offset(end, encoding));
  text_.replace(first, last - first, text);
  lines_ = LineIndex(text_);
}

}  // namespace expc::lsp
