#pragma once

// Text that keeps to a width, and its colours. Widths are display columns, so 'é' is one and '中' two.

#include <llvm/ADT/MapVector.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/printable.h"

namespace expc::report {

/// Display columns of `text`, which has no line breaks.
unsigned displayWidth(std::string_view text);

using plan::printable;  // of what is not ours

/// Words of `text` in lines of at most `width` columns, each line after the first indented by `indent`. No newline at
/// the end.
std::string wrapped(std::string_view text, unsigned width, unsigned indent);

/// `text` of one line in at most `width` columns; of a longer one the beginning and the end.
std::string elided(const std::string& text, unsigned width);

/// "1 point", "3 points".
std::string counted(uint64_t count, std::string_view noun);

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

/// Escapes for the terminal; plain text without colour.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string plain(std::string_view text) const { return std::string(text); }
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string faint(std::string_view text) const { return paint("2", text); }
  std::string green(std::string_view text) const { return paint("1;32", text); }
  std::string red(std::string_view text) const { return paint("1;31", text); }
  std::string yellow(std::string_view text) const { return paint("1;33", text); }
  using Brush = std::string (Paint::*)(std::string_view) const;
  /// That of a verdict's style (analysis/meaning.h); "" is plain.
  static Brush of(std::string_view style);

 private:
  std::string paint(std::string_view code, std::string_view text) const;
  bool on_;
};

}  // namespace expc::report
