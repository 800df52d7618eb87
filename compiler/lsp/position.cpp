#include "compiler/lsp/position.h"

#include <algorithm>

namespace expc::lsp {
namespace {

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// Bytes of the character that begins at `at`; one for a byte that begins none.
size_t bytesOf(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && end < at + 4 && continues(text[end])) ++end;
  return end - at;
}

/// Columns of the character with that many bytes: outside the basic plane UTF-16 needs two.
uint32_t columnsOf(size_t bytes, Encoding encoding) {
  if (encoding == Encoding::Utf8) return static_cast<uint32_t>(bytes);
  return bytes == 4 ? 2 : 1;
}

}  // namespace

LineIndex::LineIndex(std::string_view text) : text_(text), starts_{0} {
  for (size_t at = 0; at < text.size(); ++at) {
    const bool pair = text[at] == '\r' && at + 1 < text.size() && text[at + 1] == '\n';
    if (text[at] == '\n' || (text[at] == '\r' && !pair)) starts_.push_back(at + 1);
  }
}

std::string_view LineIndex::line(size_t index) const {
  const size_t begin = starts_[index];
  size_t end = index + 1 < starts_.size() ? starts_[index + 1] : text_.size();
  while (end > begin && (text_[end - 1] == '\n' || text_[end - 1] == '\r')) --end;
  return text_.substr(begin, end - begin);
}

Position LineIndex::position(size_t offset, Encoding encoding) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const size_t index = static_cast<size_t>(after - starts_.begin()) - 1;
  const std::string_view all = line(index);
  const size_t wanted = offset - starts_[index];
  uint32_t column = 0;
  for (size_t at = 0; at < all.size();) {
    const size_t bytes = bytesOf(all, at);
    if (at + bytes > wanted) break;
    column += columnsOf(bytes, encoding);
    at += bytes;
  }
  return {static_cast<uint32_t>(index), column};
}

size_t LineIndex::offset(Position position, Encoding encoding) const {
  if (position.line >= starts_.size()) return text_.size();
  const std::string_view all = line(position.line);
  uint32_t column = 0;
  size_t at = 0;
  while (at < all.size()) {
    const size_t bytes = bytesOf(all, at);
    column += columnsOf(bytes, encoding);
    if (column > position.character) break;
    at += bytes;
  }
  return starts_[position.line] + at;
}

}  // namespace expc::lsp
