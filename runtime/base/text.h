#pragma once

// Fits text into a width, counts things and joins lists. Widths are display columns, as a terminal shows them: 'é'
// is one and '中' is two.

#include <llvm/ADT/MapVector.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace expc::base {

/// The number of display columns of `text`, which has no line breaks.
unsigned displayWidth(std::string_view text);

/// Breaks `text` into lines of at most `width` columns, between words. Each line after the first is indented by
/// `indent`. There is no newline at the end, and a word that is wider than a line stays whole.
std::string wrapped(std::string_view text, unsigned width, unsigned indent);

/// One line in at most `width` columns; of a longer text the beginning and the end, with "…" between them.
std::string elided(const std::string& text, unsigned width);

/// A text with what stands around it; "" if it is empty.
std::string framed(std::string_view before, std::string_view text, std::string_view after = "");

/// A number with its noun: "1 point", "3 points", "2 processes". Only for nouns that take an s.
std::string counted(uint64_t count, std::string_view noun);
inline const char* are(uint64_t count) { return count == 1 ? "is" : "are"; }

/// A word of a shell's line, in quotes only where it needs them.
std::string shellWord(std::string_view word);

/// The texts, with the separator between them.
std::string joined(const std::vector<std::string>& texts, std::string_view separator = ", ");
/// The first `most` of the texts, with "…" in place of the others.
std::string firstOf(std::vector<std::string> texts, size_t most);
/// The texts as a sentence lists them: "a", "a and b", "a, b and c".
std::string listed(std::vector<std::string> texts);

/// A map that iterates in the order in which keys were inserted.
template <typename Key, typename T>
using InOrder = llvm::MapVector<Key, T, std::map<Key, unsigned>>;

/// The result of `text_of` for each element; it may be a function, or a pointer to a member.
template <typename Those, typename TextOf>
std::vector<std::string> textsOf(const Those& those, const TextOf& text_of) {
  std::vector<std::string> texts;
  for (const auto& one : those) texts.push_back(std::invoke(text_of, one));
  return texts;
}

}  // namespace expc::base
