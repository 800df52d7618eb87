#pragma once

// Text that keeps to a width, lists and counts of things. Widths are display columns, so 'é' is one and '中' two.

#include <llvm/ADT/MapVector.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace expc::base {

/// Display columns of `text`, which has no line breaks.
unsigned displayWidth(std::string_view text);

/// Words of `text` in lines of at most `width` columns, each line after the first indented by `indent`. No newline at
/// the end.
std::string wrapped(std::string_view text, unsigned width, unsigned indent);

/// `text` of one line in at most `width` columns; of a longer one the beginning and the end.
std::string elided(const std::string& text, unsigned width);

/// "1 point", "3 points", "2 processes".
std::string counted(uint64_t count, std::string_view noun);
inline const char* are(uint64_t count) { return count == 1 ? "is" : "are"; }

/// A word of a shell's line, in quotes only where it needs them.
std::string shellWord(std::string_view word);

/// Elements with ", " between them.
std::string joined(const std::vector<std::string>& texts, std::string_view separator = ", ");

/// A map whose keys stay in the order in which they came.
template <typename Key, typename T>
using InOrder = llvm::MapVector<Key, T, std::map<Key, unsigned>>;

/// What `text_of` says of each, which may be a member's name.
template <typename Those, typename TextOf>
std::vector<std::string> textsOf(const Those& those, const TextOf& text_of) {
  std::vector<std::string> texts;
  for (const auto& one : those) texts.push_back(std::invoke(text_of, one));
  return texts;
}

}  // namespace expc::base
