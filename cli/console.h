#pragma once

#include <llvm/Support/Error.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace expc::cli {

/// Exit codes of the process (documented in docs/command-line.md). Verdict codes come from analysis::exitCode;
/// `rehearse` has kSomeFail for a point that fails or unexpectedly does not fit.
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

enum class ColourMode { Auto, Always, Never };

/// How results are printed or written. A command takes some of these.
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
/// The word that `--format` takes.
const char* wordOf(Format format);

/// Where a command writes: results to standard output, everything else to standard error. Commands get it passed, so
/// that what they print is decided in one place.
class Console {
 public:
  explicit Console(ColourMode mode) : mode_(mode) {}

  /// Text for people, in colours of ours. False when it could not be written (a full disk behind a redirection), which
  /// is said once; a reader that has gone has seen enough.
  bool print(std::string_view text) const;
  /// For programs, byte by byte.
  bool printRaw(std::string_view text) const;
  /// The exit code of a command that ends with what it prints: `code`, or kError where that could not be written.
  int finish(std::string_view text, int code = 0) const;
  /// Lines that may hold what is not ours.
  void message(std::string_view text) const;
  /// Lines with colours of ours.
  void rendered(const std::string& text) const;
  /// "expc: error: …" on standard error; consumes the error. Returns kError, the code of a command that ends so.
  int error(llvm::Error error) const;
  int error(std::string_view text) const;
  /// The same of what was asked for. Returns kUsage.
  int usage(std::string_view text) const;

  bool colourOut() const;
  bool colourErr() const;
  /// Columns of the terminal behind standard output, 100 when it is none.
  unsigned width() const;
  /// The same for text that people read: at most 100, as longer lines are hard to read.
  unsigned textWidth() const { return std::min(width(), 100U); }

 private:
  ColourMode mode_;
  mutable bool gone_ = false;
};

}  // namespace expc::cli
