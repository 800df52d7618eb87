#pragma once

// Numbers out of what a program wrote. Every function returns at least one finite value, or one line on why there is
// none; nothing in a file can crash or hang it.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <memory>
#include <string>
#include <vector>

namespace llvm {
class MemoryBuffer;
}

namespace expc::command {

using Values = std::vector<double>;

/// More values than this are no series that anybody looks at.
inline constexpr size_t kMostValues = 1'000'000;

/// Which of the numbers found are wanted; only these need be numbers.
enum class Which { Last, All };

/// A pattern (PCRE2) with one group around the number. `^` and `$` are the ends of lines.
class Pattern {
 public:
  /// The error names the place in the pattern, or the number of groups.
  static llvm::Expected<Pattern> compile(const std::string& text);
  Pattern(Pattern&&) noexcept;
  ~Pattern();

  /// The group of the last match, or of every match in order.
  llvm::Expected<Values> read(llvm::StringRef text, Which which) const;

 private:
  struct Parts;
  explicit Pattern(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

/// Empty, or an error where `pointer` is not as RFC 6901 has it.
llvm::Error checkPointer(const std::string& pointer);

/// The number at `pointer` in a JSON document, or the numbers of an array there.
struct JsonNumbers {
  Values values;
  bool array = false;
};
llvm::Expected<JsonNumbers> readJson(llvm::StringRef text, const std::string& pointer);

/// A column of a CSV table (RFC 4180) whose first row has the names. Empty cells are passed over: loggers leave them
/// in rows that are about something else.
llvm::Expected<Values> readColumn(llvm::StringRef text, const std::string& column, Which which);

/// All of `text` but white space around it, as a decimal number; refused: "", "12 ms", "nan", "inf", "1e999".
llvm::Expected<double> readNumber(llvm::StringRef text);

/// A file of at most `most` bytes, mapped.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(const std::string& path, uint64_t most);

}  // namespace expc::command
