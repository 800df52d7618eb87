#include "runtime/worker/text/characters.h"

#include <array>
#include <cassert>
#include <vector>

namespace expc::text {
namespace {

constexpr size_t kCodePoints = 0x110000;

struct Range {
  uint32_t first, last;
};

constexpr Range kLetters[] = {
#define LETTERS(first, last) {first, last},
#include "runtime/worker/text/character_ranges.inc"
};
constexpr Range kNumbers[] = {
#define NUMBERS(first, last) {first, last},
#include "runtime/worker/text/character_ranges.inc"
};
constexpr Range kSpaces[] = {
#define SPACES(first, last) {first, last},
#include "runtime/worker/text/character_ranges.inc"
};

std::vector<CharacterClass> classes() {
  std::vector<CharacterClass> table(kCodePoints, CharacterClass::Other);
  const auto fill = [&](auto& ranges, CharacterClass kind) {
    for (const Range& range : ranges)
      for (uint32_t at = range.first; at <= range.last; ++at) table[at] = kind;
  };
  fill(kLetters, CharacterClass::Letter);
  fill(kNumbers, CharacterClass::Number);
  fill(kSpaces, CharacterClass::Space);
  return table;
}

}  // namespace

const CharacterClass* characterClasses() {
  static const std::vector<CharacterClass> table = classes();
  return table.data();
}

CharacterClass classOf(uint32_t code_point) {
  assert(code_point < kCodePoints);
  return characterClasses()[code_point];
}

llvm::StringRef strip(llvm::StringRef text) {
  while (!text.empty()) {
    const Character first = characterAt(text.data());
    if (!isPythonSpace(first.code_point)) break;
    text = text.drop_front(first.bytes);
  }
  while (!text.empty()) {
    const char* last = text.end() - 1;
    while ((*last & 0xc0) == 0x80) --last;
    if (!isPythonSpace(characterAt(last).code_point)) break;
    text = text.take_front(static_cast<size_t>(last - text.begin()));
  }
  return text;
}

}  // namespace expc::text
