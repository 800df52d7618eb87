#pragma once

// Numbers out of what a program wrote. Every function returns at least one value, or one line on why there is none;
// nothing in a file can crash or hang it. A value may be NaN or infinite: then the metric diverged.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/words.h"

namespace expc::command {

using base::failure;

using Values = std::vector<double>;

/// More values than this are no series that anybody looks at.
inline constexpr size_t kMostValues = 1'000'000;

/// Which of the numbers found are wanted; only these need be numbers.
enum class Which { Last, All };

/// A pattern (PCRE2). `^` and `$` are the ends of lines.
class Pattern {
 public:
  /// What it is for: one that finds a number has one group around it.
  enum class Use { Number, Match };
  /// The error names the place in the pattern, or the number of groups.
  static llvm::Expected<Pattern> compile(const std::string& text, Use use);
  /// The group of the last match, or of every match in order; one that takes a part of a number is an error. Where the
  /// pattern's words stand around "nan" or "inf", that is a value, even if the group does not match it. `left` is set
  /// to the words that stand once more behind the last value, without a number.
  llvm::Expected<Values> read(llvm::StringRef text, Which which, std::string* left = nullptr) const;
  /// Success if it matches somewhere.
  llvm::Error match(llvm::StringRef text) const;

 private:
  struct Parts;
  explicit Pattern(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  /// The number of `text` of which `part` is no more than a piece; "" where there is none.
  llvm::StringRef wholeOf(llvm::StringRef text, llvm::StringRef part) const;
  std::shared_ptr<const Parts> parts_;
};

/// Empty, or an error where `pointer` is not as RFC 6901 has it.
llvm::Error checkPointer(const std::string& pointer);

/// The number at `pointer` in a JSON document (NaN and infinities bare as Python writes them, or as strings), or the
/// numbers of an array there; of JSON Lines those of the last line that has something there, or of all. A token
/// "name=TEXT" is the only element of an array whose member `name` is that text. A byte order mark is passed over.
struct JsonNumbers {
  Values values;
  bool array = false;
};
llvm::Expected<JsonNumbers> readJson(llvm::StringRef text, const std::string& pointer, Which which = Which::Last);
/// Success if `true` stands at `pointer`, of JSON Lines in each line that has something there.
llvm::Error readTruth(llvm::StringRef text, const std::string& pointer);

/// A column of a table (files::CsvRows) whose first row has the names. Empty cells are passed over: loggers leave them
/// in rows that are about something else.
llvm::Expected<Values> readColumn(llvm::StringRef text, const std::string& column, Which which);

/// The number on the last line that is not blank, or those of all such lines.
llvm::Expected<Values> readLines(llvm::StringRef text, Which which);

/// The bytes of a file, or of all files below a folder.
llvm::Expected<double> readSize(const std::string& path);

/// Success if the two files have the same bytes.
llvm::Error compareFiles(const std::string& path, const std::string& wanted, uint64_t most);

using files::excerpt;

/// All of `text` but white space around it, as a decimal number, or as nan, inf or infinity in any case and with a
/// sign; refused: "", "12 ms", "1e999".
llvm::Expected<double> readNumber(llvm::StringRef text);

/// A file of at most `most` bytes, mapped.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string& path, uint64_t most);

}  // namespace expc::command
