#pragma once

// Words for enumerators: a table says once which word stands for which value, for schemas, journals and the language.
// So an enumeration can be reordered or extended, and no file is read in another way.

#include <cassert>
#include <cstddef>
#include <optional>

#include "runtime/base/llvm.h"

namespace expc::base {

template <typename T>
struct Word {
  llvm::StringLiteral text;
  T value;
};

/// The word of a value, which the table must have.
template <typename T, size_t N>
constexpr llvm::StringLiteral wordOf(const Word<T> (&table)[N], const T& value) {
  for (const Word<T>& word : table)
    if (word.value == value) return word.text;
  assert(false && "a value without a word");
  return table[0].text;
}

/// The value that a word stands for; nothing where it stands for none.
template <typename T, size_t N>
constexpr std::optional<T> valueOf(const Word<T> (&table)[N], StringRef text) {
  for (const Word<T>& word : table)
    if (word.text == text) return word.value;
  return std::nullopt;
}

}  // namespace expc::base
