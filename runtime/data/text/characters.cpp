// The table of character classes, filled from the generated ranges, and Python's strip.

#include "runtime/data/text/characters.h"

#include <llvm/Support/ConvertUTF.h>
#include <llvm/Support/Unicode.h>

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

namespace expc::text {
namespace {

constexpr size_t kCodePoints = 0x110000;

/// A range of code points of one class; code points outside of all ranges are Other.
struct Range {
  uint32_t first, last;
  CharacterClass kind;
};
constexpr Range kRanges[] = {
#define LETTERS(first, last) {first, last, CharacterClass::Letter},
#define NUMBERS(first, last) {first, last, CharacterClass::Number},
#define SPACES(first, last) {first, last, CharacterClass::Space},
#include "runtime/data/text/character_ranges.inc"
};

}  // namespace

const CharacterClass* characterClasses() {
  // One byte per code point, 1.1 MB: a lookup in a loop over text is far cheaper than a search in the ranges.
  static const std::vector<CharacterClass> table = [] {
    std::vector<CharacterClass> made(kCodePoints, CharacterClass::Other);
    for (const Range& range : kRanges) std::fill(made.begin() + range.first, made.begin() + range.last + 1, range.kind);
    return made;
  }();
  return table.data();
}

CharacterClass classOf(uint32_t code_point) {
  assert(code_point < kCodePoints);
  return characterClasses()[code_point];
}

StringRef strip(StringRef text) {
  while (!text.empty()) {
    const Character first = characterAt(text.data());
    if (!isPythonSpace(first.code_point)) break;
    text = text.drop_front(first.bytes);
  }
  while (!text.empty()) {
    const char* last = text.end() - 1;
    // Back to the first byte of the last character.
    while ((*last & 0xc0) == 0x80) --last;
    if (!isPythonSpace(characterAt(last).code_point)) break;
    text = text.take_front(last - text.begin());
  }
  return text;
}

std::string normalised(StringRef text) {
  std::string result;
  bool space = false;
  for (text = strip(text); !text.empty();) {
    const Character next = characterAt(text.data());
    const auto folded = static_cast<llvm::UTF32>(llvm::sys::unicode::foldCharSimple(int(next.code_point)));
    text = text.drop_front(next.bytes);
    const bool was_space = std::exchange(space, isPythonSpace(next.code_point));
    if (space) continue;
    if (was_space) result += ' ';
    char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *end = bytes;
    llvm::ConvertCodePointToUTF8(folded, end);
    result.append(bytes, end);
  }
  return result;
}

}  // namespace expc::text
