#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace expc::lsp {

/// What a column counts; agreed on when the client says hello.
enum class Encoding { Utf8, Utf16 };

/// A place as the protocol writes it: both numbers count from zero.
struct Position {
  uint32_t line = 0;
  uint32_t character = 0;
  bool operator==(const Position&) const = default;
};

/// Turns bytes of a text into lines and columns and back. The text must stay where it is. Lines end in LF, CR LF or CR.
class LineIndex {
 public:
  LineIndex() : LineIndex(std::string_view()) {}
  explicit LineIndex(std::string_view text);

  /// Of a byte inside a character, the character's own column.
  Position position(size_t offset, Encoding encoding) const;
  /// A column past the end of its line stands for that end, a line past the last for the end of the text; a column
  /// inside a character for the beginning of it.
  size_t offset(Position position, Encoding encoding) const;

 private:
  std::string_view line(size_t index) const;  // without its end

  std::string_view text_;
  std::vector<size_t> starts_;
};

}  // namespace expc::lsp
