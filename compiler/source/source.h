#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace expc::source {

/// Index of a buffer in a SourceManager.
struct FileId {
  uint32_t index = UINT32_MAX;
  bool isValid() const { return index != UINT32_MAX; }
  bool operator==(const FileId&) const = default;
};

/// A half-open range of bytes [begin, end) in one file. An empty range points between two bytes.
struct Range {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool isValid() const { return file.isValid(); }
  bool operator==(const Range&) const = default;
};

/// The smallest range that covers both; they must be in one file.
Range join(Range first, Range last);

/// One-based line and column; the column counts Unicode code points, as editors show it.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// Owns the text of every file of a compilation; texts never move, so string_views into them stay valid.
class SourceManager {
 public:
  /// `name` is what diagnostics print: a path as the user wrote it, or "<stdlib>/image.exp".
  FileId add(std::string name, std::string text);

  std::string_view name(FileId file) const;
  std::string_view text(FileId file) const;
  std::string_view text(Range range) const;
  Position position(FileId file, uint32_t offset) const;
  /// The line (without its newline) that holds `offset`, and where it begins.
  std::string_view line(FileId file, uint32_t offset, uint32_t* line_begin = nullptr) const;
  size_t size() const { return files_.size(); }

 private:
  struct File {
    std::string name;
    std::string text;
    std::vector<uint32_t> line_starts;
  };
  std::vector<std::unique_ptr<File>> files_;
};

/// Source text on one line: comments are gone, and white space is squeezed to single blanks.
std::string squeeze(std::string_view text);

}  // namespace expc::source
