#pragma once

// The texts that a compilation reads, and places in them. Every phase refers to source by Range: a file and two
// byte offsets. Lines and columns are computed from it only when a diagnostic is shown. Everything here belongs
// to one thread; nothing is freed before the SourceManager.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace expc::source {

/// Index of a buffer in a SourceManager. A default-constructed one is invalid: "no file".
struct FileId {
  uint32_t index = UINT32_MAX;
  bool isValid() const { return index != UINT32_MAX; }
  bool operator==(const FileId&) const = default;
};

/// A half-open range of bytes [begin, end) in one file. An empty range points between two bytes. A range
/// without a file stands for "no place": its diagnostic concerns the whole invocation.
struct Range {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;
  bool isValid() const { return file.isValid(); }
  bool operator==(const Range&) const = default;
};

/// The smallest range that covers both. Both must be in one file; an invalid range yields the other one.
Range join(Range first, Range last);

/// One-based line and column; the column counts Unicode code points, as editors show it.
struct Position {
  uint32_t line = 1;
  uint32_t column = 1;
};

/// Owns the text of every file of a compilation; texts never move, so string_views into them stay valid.
class SourceManager {
 public:
  /// Takes over `text` and returns its id. `name` is what diagnostics print: a path as the user wrote it, or
  /// "<stdlib>/image.exp". Offsets have 32 bits, so a text must be smaller than 4 GiB; parse::load admits 1
  /// MiB.
  FileId add(std::string name, std::string text);

  /// These throw std::out_of_range for a file that this manager does not know.
  std::string_view name(FileId file) const;
  std::string_view text(FileId file) const;
  /// The bytes of `range`, cut at the end of the file.
  std::string_view text(Range range) const;
  /// The line and column of the byte at `offset`; an offset behind the end means the end of the file.
  Position position(FileId file, uint32_t offset) const;
  /// The line that holds `offset`, without its newline or carriage return. `line_begin` gets the offset at
  /// which that line begins.
  std::string_view line(FileId file, uint32_t offset, uint32_t* line_begin = nullptr) const;
  size_t size() const { return files_.size(); }

 private:
  struct File {
    std::string name;
    std::string text;
    /// Offsets at which lines begin, ascending; the first is 0.
    std::vector<uint32_t> line_starts;
  };
  // Pointers, because moving a short std::string would move its text and break every string_view into it.
  std::vector<std::unique_ptr<File>> files_;
};

/// Source text on one line, for messages and the plan: comments are removed, and white space outside strings is
/// squeezed to single blanks.
std::string squeeze(std::string_view text);

}  // namespace expc::source
