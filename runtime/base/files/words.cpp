// Finds the cause of a failure in output of unknown form. The patterns come from programs that studies run (Python,
// pytest, Java, compilers, launchers). Lines are long and many, so the regular expression sees only the beginning
// of each.

#include "runtime/base/files/words.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/Regex.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "runtime/base/printable.h"

namespace expc::files {
namespace {

constexpr size_t kMostLine = 200, kMostSearched = 1000;

/// Prefixes of an error line: a rank or time, a place in a source, the words of pytest, Java and loggers.
constexpr StringRef kBefore =
    "^(([0-9][^ ]*|[^ ]{1,60}[]:>)]|E|ERROR|FATAL|CRITICAL|Caused by:|Exception in thread \"[^\"]*\"|FAILED [^ ]+ -)"
    " *)*";
/// `ValueError: …`, `a.b.SomeException: …`, and also `AssertionError` alone. A colon with nothing behind it is a
/// heading, and so is a word alone.
constexpr StringRef kException =
    "([[:alpha:]_][[:alnum:]_]*([.:]+[[:alnum:]_]+)*)?((Error|Exception|Interrupt|Exit): .*[[:alnum:]]|"
    "[[:alnum:]_](Error|Exception|Interrupt)$)";
/// `error: …`, `fatal error: …`, `error[E0308]: …`, `what():  …`. A number behind the colon makes it a metric.
constexpr StringRef kError =
    "((fatal|internal|runtime|syntax) )?(error|Error|ERROR|fatal|FATAL|panic|what\\(\\))(\\[[^]]*\\])?:.*[[:alpha:]]";
/// Words of an error whose process only lost another one, or waited for it. It is not the cause.
constexpr StringRef kOfAnother[] = {"CalledProcessError",    "ChildFailedError", "by peer",          "Broken pipe",
                                    "remote process exited", "DistStoreError",   "DistNetworkError", "was aborted",
                                    "Watchdog caught",       "imed out waiting", "Socket Timeout"};

/// Whether a box-drawing character (U+2500 to U+259F) begins here.
bool isBox(StringRef text) { return text.size() >= 3 && text[0] == '\xe2' && text[1] >= '\x94' && text[1] <= '\x96'; }

/// The line without its frame: blanks, boxes, rules. Frames can be nested, so this repeats until nothing changes.
StringRef unframed(StringRef line) {
  StringRef before;
  while (before != line) {
    before = line = line.trim(" \t|");
    while (isBox(line)) line = line.drop_front(3);
    while (isBox(line.take_back(3))) line = line.drop_back(3);
    for (const char rule : StringRef("=-*#_~+")) {
      const std::string run(3, rule);
      if (line.starts_with(run)) line = line.ltrim(rule);
      if (line.ends_with(run)) line = line.rtrim(rule);
    }
  }
  return line;
}

/// Whether a line says anything: letters beyond ASCII count, signs and punctuation (U+0080 to U+00BF, U+2000 to
/// U+2FFF) do not.
bool hasWords(StringRef line) {
  return llvm::any_of(line, [](unsigned char c) { return llvm::isAlnum(c) || (c > 0xc2 && c != 0xe2); });
}

bool isOfAnother(StringRef line) {
  return llvm::any_of(kOfAnother, [&](StringRef words) { return line.contains(words); });
}

}  // namespace

std::string excerpt(StringRef text, size_t most) {
  size_t end = std::min(most, text.size());
  if (end < text.size())  // back to the beginning of a character, at most three bytes away
    for (int back = 0; back < 3 && end > 0 && (text[end] & 0xc0) == 0x80; ++back) --end;
  return base::printable(text.take_front(end)) + (text.size() > end ? "..." : "");
}

std::string withoutColours(StringRef text) {
  auto [out, rest] = text.split("\x1b[");
  std::string plain = out.str();
  while (!rest.empty()) {
    // A sequence is ESC [, parameters, and one final letter.
    rest = rest.drop_while([](char c) { return c >= 0x20 && c < 0x40; }).substr(1);
    std::tie(out, rest) = rest.split("\x1b[");
    plain += out;
  }
  return plain;
}

std::string errorLine(StringRef text) {
  static const llvm::Regex error((kBefore + "(" + kException + "|" + kError + ")").str());
  const std::string plain = withoutColours(text);
  StringRef rest = plain, last, found, of_another;
  // The exception behind a Python traceback is the first line that is not indented, whatever its name.
  std::optional<StringRef> traceback;  // the text before each of its lines, such as a rank
  bool ignored = false;                // Python could not raise it while it ended
  while (!rest.empty()) {
    const StringRef whole = rest.take_until([](char c) { return c == '\n' || c == '\r'; });
    rest = rest.drop_front(std::min(whole.size() + 1, rest.size()));
    const StringRef line = unframed(whole);
    if (!hasWords(line)) continue;
    last = line;
    if (const size_t at = whole.find("Traceback (most recent call last)"); at != StringRef::npos) {
      traceback = whole.take_front(at);
      continue;
    }
    StringRef behind = whole;
    const bool raised = traceback && behind.consume_front(*traceback) && !behind.empty() && !behind.starts_with(" ");
    if (raised || error.match(line.take_front(kMostSearched)))
      (isOfAnother(line) || (raised && ignored) ? of_another : found) = line;
    if (raised) traceback.reset();
    if (!traceback) ignored = line.starts_with("Exception ignored in");
  }
  return excerpt(!found.empty() ? found : !of_another.empty() ? of_another : last, kMostLine);
}

}  // namespace expc::files
