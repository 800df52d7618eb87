// Positions are computed from byte offsets on demand, with one list of line starts per file.

#include "compiler/diag/source.h"

#include <algorithm>
#include <cassert>

namespace expc::source {

Range join(Range first, Range last) {
  if (!first.isValid()) return last;
  if (!last.isValid()) return first;
  assert(first.file == last.file && "ranges of two files cannot be joined");
  return {first.file, std::min(first.begin, last.begin), std::max(first.end, last.end)};
}

FileId SourceManager::add(std::string name, std::string text) {
  auto file = std::make_unique<File>();
  file->name = std::move(name);
  file->text = std::move(text);
  file->line_starts.push_back(0);
  // The line starts are found once, so that `position` is a binary search plus a walk along one line.
  for (size_t at = 0; at < file->text.size(); ++at)
    if (file->text[at] == '\n') file->line_starts.push_back(uint32_t(at + 1));
  files_.push_back(std::move(file));
  return {uint32_t(files_.size() - 1)};
}

std::string_view SourceManager::name(FileId file) const { return files_.at(file.index)->name; }

std::string_view SourceManager::text(FileId file) const { return files_.at(file.index)->text; }

std::string_view SourceManager::text(Range range) const {
  std::string_view all = text(range.file);
  size_t begin = std::min<size_t>(range.begin, all.size());
  size_t end = std::clamp<size_t>(range.end, begin, all.size());
  return all.substr(begin, end - begin);
}

Position SourceManager::position(FileId file, uint32_t offset) const {
  const File& entry = *files_.at(file.index);
  // A diagnostic at the end of the file points behind its last byte.
  offset = std::min<uint32_t>(offset, uint32_t(entry.text.size()));
  // The line is the last one that begins at or before the offset.
  auto after = std::ranges::upper_bound(entry.line_starts, offset);
  uint32_t line = uint32_t(after - entry.line_starts.begin());
  uint32_t column = 1;
  // UTF-8: every byte that does not continue a code point (10xxxxxx) begins one.
  for (uint32_t at = entry.line_starts[line - 1]; at < offset; ++at)
    if ((static_cast<unsigned char>(entry.text[at]) & 0xC0) != 0x80) ++column;
  return {line, column};
}

std::string_view SourceManager::line(FileId file, uint32_t offset, uint32_t* line_begin) const {
  const File& entry = *files_.at(file.index);
  Position where = position(file, offset);
  uint32_t begin = entry.line_starts[where.line - 1];
  size_t end = where.line < entry.line_starts.size() ? entry.line_starts[where.line] - 1 : entry.text.size();
  if (end > begin && entry.text[end - 1] == '\r') --end;
  if (line_begin) *line_begin = begin;
  return std::string_view(entry.text).substr(begin, end - begin);
}

std::string squeeze(std::string_view text) {
  std::string result;
  bool blank = false, quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    // Strings are copied as they are: `//` and blanks inside quotes mean something.
    if (!quoted && c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n') ++i;
      blank = true;
      continue;
    }
    if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      blank = true;
      continue;
    }
    if (blank && !result.empty()) result += ' ';
    blank = false;
    result += c;
    if (quoted && c == '\\' && i + 1 < text.size()) {
      result += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    }
  }
  return result;
}

}  // namespace expc::source
