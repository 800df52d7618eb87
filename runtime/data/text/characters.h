#pragma once

// Unicode code points and the classes that split patterns tell apart. Classes follow the Unicode version of tiktoken's
// regular expressions, not the C library's or PCRE2's, so that token ids equal those of Python.

#include <cstdint>
#include <string>

#include "runtime/base/llvm.h"

namespace expc::text {

/// The classes in Llama 3's split pattern: \p{L}, \p{N}, \s, and everything else.
enum class CharacterClass : uint8_t { Other, Letter, Number, Space };

/// The class of a code point below 0x110000. character_ranges.inc, which make_character_ranges.py generates, lists the
/// ranges.
CharacterClass classOf(uint32_t code_point);

/// All classes as a table with 0x110000 entries, for loops that look many up. Built on first use.
const CharacterClass* characterClasses();

/// Whether Python's str.isspace holds: \s, or one of the four information separators (U+001C to U+001F).
inline bool isPythonSpace(uint32_t code_point) {
  return classOf(code_point) == CharacterClass::Space || (code_point >= 0x1c && code_point <= 0x1f);
}

/// A code point and the bytes that it takes in UTF-8.
struct Character {
  uint32_t code_point = 0;
  unsigned bytes = 0;
};

/// Decodes the character at `at`. The text must be valid UTF-8 and `at` the first byte of a character: nothing is
/// checked, since this runs for every character of a data set.
inline Character characterAt(const char* at) {
  const auto* byte = reinterpret_cast<const unsigned char*>(at);
  if (byte[0] < 0x80) return {byte[0], 1};
  if (byte[0] < 0xe0) return {(byte[0] & 0x1fu) << 6 | (byte[1] & 0x3fu), 2};
  if (byte[0] < 0xf0) return {(byte[0] & 0x0fu) << 12 | (byte[1] & 0x3fu) << 6 | (byte[2] & 0x3fu), 3};
  return {(byte[0] & 0x07u) << 18 | (byte[1] & 0x3fu) << 12 | (byte[2] & 0x3fu) << 6 | (byte[3] & 0x3fu), 4};
}

/// Removes white space at both ends, as Python's str.strip does. The text must be valid UTF-8.
StringRef strip(StringRef text);

/// The text as people compare it: case folded, each run of white space one space, none at the ends. The text must be
/// valid UTF-8.
std::string normalised(StringRef text);

}  // namespace expc::text
