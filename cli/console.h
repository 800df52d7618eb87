#pragma once

// Everything that a command writes passes through here: results to standard output, messages and errors to standard
// error. Texts may hold names and file contents of strangers, so control characters are made visible before they reach
// a terminal; that is the invariant of this file. The exit codes of the process are listed here too.

#include <algorithm>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::cli {

/// Exit codes of the process, documented in docs/command-line.md. Verdicts map to codes in judge::exitCode;
/// `rehearse` uses kSomeFail for a point that fails, or that does not fit although it was expected to.
enum ExitCode : int {
  kSuccess = 0,
  kError = 1,
  kUsage = 2,
  kSomeFail = 3,
  kSomeUndecided = 4,
  kNothingRan = 5,
  kBroken = 6,
  kInterrupted = 130,
};
/// Returns the meaning of an exit code of `run`, "a criterion fails"; "" for other numbers.
std::string_view meaningOf(int code);

enum class ColourMode { Auto, Always, Never };

/// The forms in which results are printed or written; each command accepts some of them. The order is that of the words
/// in console.cpp.
enum class Format {
  Text,
  Json,
  JsonLines,
  Sarif,
  Svg,
  Png,
  Pdf,
  Csv,
  Parquet,
  Junit,
  Markdown,
  Bencher,
  SmallerIsBetter,
  BiggerIsBetter,
  OpenMetrics
};
/// Returns the word for it that `--format` takes, which is also the ending of pictures.
const char* wordOf(Format format);

/// The end of a command: its exit code, or the error that ends it (Console::codeOf).
using Exit = Expected<int>;

/// An error that ends a command with a code of its own. Without a message the reason was shown.
class Ended : public llvm::ErrorInfo<Ended> {
 public:
  static inline char ID = 0;
  Ended(int code, std::string message) : code(code), message(std::move(message)) {}
  void log(llvm::raw_ostream& out) const override { out << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  int code;
  std::string message;
};
template <typename... Args>
Error ended(int code, fmt::format_string<Args...> text, Args&&... args) {
  return llvm::make_error<Ended>(code, fmt::format(text, std::forward<Args>(args)...));
}
/// An error in the command line itself.
template <typename... Args>
Error usage(fmt::format_string<Args...> text, Args&&... args) {
  return ended(kUsage, text, std::forward<Args>(args)...);
}

/// Where a command writes: results to standard output, everything else to standard error. Commands get it passed, so
/// that colours, width and the treatment of strangers' text are decided in one place. Not thread-safe.
class Console {
 public:
  explicit Console(ColourMode mode) : mode_(mode) {}

  /// Prints text for people, which may hold our own colours. Returns false if it could not be written (a full disk
  /// behind a redirection), and says so once. A reader that closed the pipe has seen enough: that counts as written.
  bool print(std::string_view text) const;
  /// Prints text for programs, unchanged byte by byte, except on a terminal, where control characters are still made
  /// visible.
  bool printRaw(std::string_view text) const;
  /// Prints the last text of a command and returns its exit code: `code`, or kError if the text could not be written.
  int finish(std::string_view text, int code = 0) const;
  /// Writes a message to standard error. It may hold strangers' text: a line break in it cannot start a line that looks
  /// like one of ours.
  void message(std::string_view text) const;
  /// Writes lines to standard error that may hold our own colours, such as rendered diagnostics.
  void rendered(const std::string& text) const;
  void messages(const std::vector<std::string>& texts) const {
    for (const std::string& text : texts) message(text);
  }
  /// Returns the exit code after writing the error, if it is one.
  int codeOf(Exit end) const;
  /// Writes "expc: error: …" to standard error and consumes the error. Returns kError.
  int error(Error error) const;
  int error(std::string_view text) const;

  // Texts to be formatted.
  template <typename First, typename... Rest>
  void message(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) const {
    message(std::string_view(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...)));
  }
  template <typename First, typename... Rest>
  int error(fmt::format_string<First, Rest...> text, First&& first, Rest&&... rest) const {
    return error(std::string_view(fmt::format(text, std::forward<First>(first), std::forward<Rest>(rest)...)));
  }

  /// Whether standard output and standard error get colours, by --color, NO_COLOR and whether they are terminals.
  bool colourOut() const;
  bool colourErr() const;
  /// Columns of the terminal behind standard output; 100 if it is no terminal.
  unsigned width() const;
  /// Columns for running text: at most 100, since longer lines are hard to read.
  unsigned textWidth() const { return std::min(width(), 100U); }

 private:
  ColourMode mode_;
  /// Whether a failed write was reported already: one message is enough, since every later write fails, too.
  mutable bool gone_ = false;
};

}  // namespace expc::cli
