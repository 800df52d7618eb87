#pragma once

// Readers of numbers in what a program wrote. Every function returns at least one value, or an
// error of one line that says why there is none. Nothing in a file can crash or hang it. A value
// may be NaN or infinite: then the metric diverged.

#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/words.h"
#include "runtime/base/llvm.h"

namespace expc::command {

using Values = std::vector<double>;

/// The values of a column as they are written, by row: none, one, or the elements of an array.
using RowTexts = std::vector<std::vector<std::string>>;

/// The error that the output has no value where one is read: nothing matches, a member is absent, a cell is empty, or a
/// word such as `<not supported>` stands there. An optional metric has no value then; every other error is a mistake.
class NoValue : public llvm::ErrorInfo<NoValue, llvm::StringError> {
 public:
  static char ID;
  explicit NoValue(const std::string& message) : ErrorInfo(message, llvm::inconvertibleErrorCode()) {}
};

/// An error with this message: a NoValue if `none`, else a mistake.
Error noValue(const std::string& message, bool none = true);
/// `error` behind `where`; a NoValue stays one.
Error within(const std::string& where, Error error);

/// The most values of a series; more would be of no use to anybody.
inline constexpr size_t kMostValues = 1'000'000;

/// Which of the numbers are wanted. Only those need to be numbers.
enum class Which { Last, All };

/// A pattern in the syntax of PCRE2; `^` and `$` match at the ends of lines.
class Pattern {
 public:
  /// The purpose of a pattern. One that finds a number has exactly one group, around the number; each match of one for
  /// rows is a row, whose values are its named groups.
  enum class Use { Number, Match, Rows };
  /// Compiles a pattern. The error names the place in the pattern, or the number of its groups.
  static Expected<Pattern> compile(const std::string& text, Use use);
  /// The number in the group of the last match, or of every match in order. A group that takes only
  /// a part of a number is an error. If the pattern's words stand around "nan" or "inf", that is a
  /// value even if the group does not match it.
  /// @param left becomes the pattern's words if they occur once more behind the last value without
  /// a number
  Expected<Values> read(StringRef text, Which which, std::string* left = nullptr) const;
  /// The text of a named group in each match; none where the group took no part.
  /// @param number whether it must not be a part of a number
  Expected<RowTexts> rows(StringRef text, const std::string& group, bool number) const;
  /// How often the pattern matches.
  Expected<uint64_t> count(StringRef text) const;
  /// Success if the pattern matches somewhere.
  Error match(StringRef text) const;

 private:
  struct Parts;
  explicit Pattern(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  /// The number in `text` of which `part` is only a piece; "" if there is none.
  StringRef wholeOf(StringRef text, StringRef part) const;
  std::shared_ptr<const Parts> parts_;
};

/// Success if `pointer` is a JSON pointer by RFC 6901.
Error checkPointer(const std::string& pointer);

/// The numbers at a JSON pointer.
struct JsonNumbers {
  Values values;
  /// Whether the pointer led to an array.
  bool array = false;
  /// The most values that it led to in one document; more than one needs a `*` or a `name=value` in it.
  size_t places = 0;
};
/// Reads the number, or the array of numbers, at `pointer` in a JSON document; text before the document is passed over.
/// A number may stand in quotes; NaN and infinities may also be bare words, as Python writes them. In JSON Lines it
/// reads the last line that has something there, or all of them. A token "*" stands for all elements of an array,
/// "name=VALUE" for those whose member `name` is that text, number, `true`, `false` or `null`; on an object it goes on
/// with the object itself, and so selects among JSON Lines.
Expected<JsonNumbers> readJson(StringRef text, const std::string& pointer, Which which = Which::Last);
/// How many elements the array at `pointer` has, or else how many values are there.
Expected<uint64_t> countJson(StringRef text, const std::string& pointer);
/// The values at `pointer`, which begins with `rows`, in each place to which `rows` leads.
Expected<RowTexts> jsonRows(StringRef text, std::string_view rows, const std::string& pointer);
/// Success if `true` stands at `pointer`; in JSON Lines, on each line that has something there.
Error readTruth(StringRef text, const std::string& pointer);

/// Reads a column of a table (files::CsvRows) whose first row has the names. Empty cells are
/// skipped, because loggers leave them in rows about something else.
Expected<Values> readColumn(StringRef text, const std::string& column, Which which);
/// The cells of a column.
Expected<RowTexts> columnRows(StringRef text, const std::string& column);
/// How many cells of a column are not empty.
Expected<uint64_t> countColumn(StringRef text, const std::string& column);

/// Reads the number on the last line that is not blank, or those on all such lines.
Expected<Values> readLines(StringRef text, Which which);

/// The size of a file in bytes, or of all files below a folder. Links are not followed there.
Expected<double> readSize(const std::string& path);

/// Success if both files have the same bytes; the error names the first line that differs. @param
/// most bytes to read of each
Error compareFiles(const std::string& path, const std::string& wanted, uint64_t most);

using files::excerpt;

/// Reads all of `text`, except white space around it, as a decimal number, or as nan, inf or
/// infinity in any case and with a sign. Refuses "12 ms" and "1e999"; "" and "N/A" are no values.
Expected<double> readNumber(StringRef text);

/// Maps a file of at most `most` bytes; the error fits behind the file's name.
Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string& path, uint64_t most);

/// The largest file that is read as JSON: a parsed document takes some twenty times its text in memory.
inline constexpr uint64_t kMostJson = 64ull << 20;
/// The JSON object in the last line of a file; nothing if there is none.
std::optional<json::Object> lastObject(const std::string& path);

}  // namespace expc::command
