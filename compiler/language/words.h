#pragma once

// The one table of the language's words. The grammar's reserved words, the checker's functions, kinds, settings and
// properties, hovers, proposals, the colours of an editor and the reference are held to it by tests or read it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace expc::language {

/// What a word is. Words of one role stand together, in the order in which messages list them.
enum class Role : uint8_t {
  Head,         // begins a statement: `factor`
  Clause,       // goes on with one: `baseline`
  Operator,     // stands in an expression: `and`, `true`
  Value,        // stands for a value in one place: `previous`
  Comparison,   // a function behind `compare NAME =`
  Choice,       // a function of any expression: `choose`
  Function,     // a function of one place: `epochs_to`, `column`
  Type,         // `int`, `Time`
  Trait,        // follows a metric's type: `lower`
  Kind,         // of trials: `timed`
  Setting,      // of a design
  Source,       // a function behind `from`
  Taken,        // a function behind `from` that makes one number of several
  Scaling,      // what `efficiency` holds constant
  Place,        // what a series runs over, in a plot
  Description,  // what a table says of metrics, before `of`
  Property,     // of a system
};

/// Blocks, as a set. A head begins a statement there; a setting belongs there.
enum Block : uint8_t {
  None = 0,
  File = 1,
  Workload = 2,
  Study = 4,
  Preset = 8,
  Design = 16,
  Stepped = 32,
  Whole = 64,
  Anywhere = 0xff
};

struct Word {
  std::string_view text;
  Role role;
  std::string_view doc;
  std::string_view snippet =
      {};                      // what an editor inserts, with `$1` and `${1:name}` to fill in; "" for the text itself
  uint8_t blocks = None;       // Stepped: timed and profiled trials; Whole: trials of whole epochs
  std::string_view type = {};  // of a property: the type of its value
};

/// The words of a role.
std::span<const Word> words(Role role);
/// The words of a role that belong to one of `blocks`.
std::vector<const Word*> words(Role role, uint8_t blocks);
/// Their texts, for messages that list or suggest them.
std::vector<std::string> texts(Role role, uint8_t blocks = Anywhere);

/// The word of a role; null if there is none.
const Word* find(Role role, std::string_view text);
/// The word in any role but those that only mean something behind a dot or inside brackets; null if there is none.
const Word* find(std::string_view text);

/// Where a word stands among those of its role; -1 if it is none.
int indexOf(Role role, std::string_view text);

/// A unit: a literal is a number and a unit, without a space.
struct Unit {
  std::string_view text;
  std::string_view type;  // what it measures, as a type is written
  int64_t above = 1;      // how many base units it is, as a fraction
  int64_t below = 1;
};
std::span<const Unit> units();
std::vector<std::string> unitNames();
/// Null if there is none.
const Unit* findUnit(std::string_view text);

}  // namespace expc::language
