#pragma once

// The one table of the language's words and units. The parser, the checker, hovers and completion read it; the
// lexer's words, the colours of an editor and the reference are compared with it by tests. A new word is one
// row in words.cpp.
//
// A word may occur under several roles (`series` is a trait, `min` both a choice and a reading), so a look-up
// names the role.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace expc::words {

/// The grammatical part that a word plays. Words of one role stand together in the table, in the order in which
/// messages list them.
enum class Role : uint8_t {
  Head,         // begins a statement: `factor`
  Clause,       // continues a statement: `baseline`
  Operator,     // part of an expression: `and`, `true`
  Value,        // a fixed value that one place accepts: `previous`
  Comparison,   // a function after `compare NAME =`: `speedup`
  Choice,       // a function that any expression may call: `choose`
  Function,     // a function that one place accepts: `epochs_to`, `column`
  Type,         // a type: `int`, `Time`
  Trait,        // follows a metric's type: `lower`
  Kind,         // a kind of trial: `timed`
  Setting,      // a setting of a design: `repeat`
  Source,       // a function after `from` that reads a command's output: `regex`
  Taken,        // a function after `from` that reduces several numbers to one: `median`
  Scaling,      // the quantity that `efficiency` holds constant: `strong`
  Axis,         // the axis of a series in a plot: `epoch`
  Description,  // a kind of table, before `of`: `effects`
  Property,     // a property of a system: `gpu.memory`
};

/// Blocks of the language, as a bit set: where a head may begin a statement, and where a setting belongs.
enum Block : uint8_t {
  None = 0,
  File = 1,
  Workload = 2,
  Study = 4,
  Preset = 8,
  Design = 16,
  // Blocks of kinds of trial: `timed` and `profile` run steps, `quality` runs whole epochs.
  Stepped = 32,
  Whole = 64,
  Service = 128,
  Anywhere = 0xff
};

/// A row of the table.
struct Word {
  std::string_view text;
  Role role;
  /// One or two sentences for hovers and completion; Markdown code spans only.
  std::string_view doc;
  /// The text that an editor inserts, with `$1` and `${1:name}` to fill in; "" for the word itself.
  std::string_view snippet = {};
  /// A set of Block; None for roles that no block limits.
  uint8_t blocks = None;
  /// Property: the type of its value, as it is written in the language.
  std::string_view type = {};
};

/// The words of a role, in table order.
std::span<const Word> words(Role role);
/// The words of a role that may stand in one of `blocks`.
std::vector<const Word*> words(Role role, uint8_t blocks);
/// The texts of these words, for messages that list or suggest them.
std::vector<std::string> texts(Role role, uint8_t blocks = Anywhere);

/// The word under one role; null if there is none.
const Word* find(Role role, std::string_view text);
/// The first word of any role that stands alone, null if there is none. Properties (`gpu.memory`), scaling and
/// the axes of series mean something only in one place, so a bare name is none of them.
const Word* find(std::string_view text);

/// The position of a word among those of its role, -1 if it is none.
int indexOf(Role role, std::string_view text);

/// A unit of literals; a literal is a number directly followed by a unit.
struct Unit {
  std::string_view text;
  /// The type of a literal with this unit, as it is written.
  std::string_view type;
  /// Its size in base units, the fraction above / below.
  int64_t above = 1;
  int64_t below = 1;
};
/// All units, base units included.
std::span<const Unit> units();
std::vector<std::string> unitNames();
/// The unit, or null if there is none.
const Unit* findUnit(std::string_view text);

}  // namespace expc::words
