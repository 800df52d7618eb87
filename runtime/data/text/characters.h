#pragma once

// Code points and their classes, as the Python originals see them.

#include <llvm/ADT/StringRef.h>

#include <cstdint>

namespace expc::text {

/// What the split pattern of Llama 3 tells apart: \p{L}, \p{N}, \s, and the rest.
enum class CharacterClass : uint8_t { Other, Letter, Number, Space };

/// The class of a code point below 0x110000, in the Unicode version of tiktoken's regular expressions
/// (character_ranges.inc).
CharacterClass classOf(uint32_t code_point);

/// A table of 0x110000 classes, for loops that look many up.
const CharacterClass* characterClasses();

/// Python's str.isspace: \s, and the four information separators.
inline bool isPythonSpace(uint32_t code_point) {
  return classOf(code_point) == CharacterClass::Space || (code_point >= 0x1c && code_point <= 0x1f);
}

struct Character {
  uint32_t code_point = 0;
  unsigned bytes = 0;
};

/// The character at `at`; the text must be valid UTF-8 and `at` the beginning of one.
inline Character characterAt(const char* at) {
  const auto* byte = reinterpret_cast<const unsigned char*>(at);
  if (byte[0] < 0x80) return {byte[0], 1};
  if (byte[0] < 0xe0) return {(byte[0] & 0x1fu) << 6 | (byte[1] & 0x3fu), 2};
  if (byte[0] < 0xf0) return {(byte[0] & 0x0fu) << 12 | (byte[1] & 0x3fu) << 6 | (byte[2] & 0x3fu), 3};
  return {(byte[0] & 0x07u) << 18 | (byte[1] & 0x3fu) << 12 | (byte[2] & 0x3fu) << 6 | (byte[3] & 0x3fu), 4};
}

/// Python's str.strip: without the white space at both ends. The text must be valid UTF-8.
llvm::StringRef strip(llvm::StringRef text);

}  // namespace expc::text
