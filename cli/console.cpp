// Output of commands. Text for people passes through plan::printable, which shows control characters instead of sending
// them to the terminal; only colour sequences survive, and only if we colour ourselves. Writes are flushed at once, so
// that a failure is known when the exit code is decided.

#include "cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"

namespace expc::cli {

namespace {

/// Whether to colour a stream: as --color says, else only on a terminal that has colours, and without NO_COLOR.
bool wantsColour(ColourMode mode, int descriptor) {
  if (mode != ColourMode::Auto) return mode == ColourMode::Always;
  const char* no_colour = std::getenv("NO_COLOR");  // https://no-color.org
  const char* terminal = std::getenv("TERM");
  if ((no_colour && *no_colour) || (terminal && std::string_view(terminal) == "dumb")) return false;
  return isatty(descriptor) == 1;
}

/// Makes text safe for a terminal: it may hold names and words of strangers, so every control sequence is shown as
/// text. Colour sequences (ESC [ … m) stay if we colour ourselves: they change no more than the look.
std::string shown(std::string_view text, bool coloured) {
  if (!coloured) return base::printableLines(text);
  std::string out;
  // The text is taken apart at each ESC [. A sequence of digits and semicolons that ends in m is a colour and is
  // copied; of any other only the escape character is shown.
  for (StringRef rest = text; !rest.empty();) {
    const size_t escape = rest.find("\x1b[");
    out += base::printableLines(rest.take_front(escape));
    rest = rest.drop_front(std::min(escape, rest.size()));
    const size_t end = std::min(rest.find_first_not_of("0123456789;", 2), rest.size());
    const bool colour = rest.drop_front(end).starts_with("m");
    const StringRef sequence = rest.take_front(colour ? end + 1 : 1);
    out += colour ? sequence.str() : base::printable(sequence);
    rest = rest.drop_front(sequence.size());
  }
  return out;
}

/// Makes a message out of text that may hold strangers' names: continuation lines are indented, so that a line break in
/// a name cannot begin a line that looks like ours.
std::string oneMessage(std::string_view text) {
  std::string out = base::printableLines(text);
  for (size_t at = 0; (at = out.find('\n', at)) != std::string::npos && ++at < out.size();)
    if (out[at] != ' ') out.insert(at, "  ");
  return out;
}

/// Writes and flushes to standard output; reports the first failure on `console`.
bool put(std::string_view text, bool& gone, const Console& console) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return true;
  const int why = errno;
  // The reader closed the pipe, as `head` does: it has seen enough.
  if (why == EPIPE) return true;
  if (!std::exchange(gone, true)) console.error(std::string("standard output: ") + std::strerror(why));
  return false;
}

}  // namespace

std::string_view meaningOf(int code) {
  switch (code) {
    case kSuccess:
      return "all pass";
    case kError:
      return "error";
    case kUsage:
      return "wrong usage";
    case kSomeFail:
      return "a criterion fails";
    case kSomeUndecided:
      return "undecided";
    case kNothingRan:
      return "nothing ran";
    case kBroken:
      return "a point always fails";
    case kInterrupted:
      return "interrupted";
    default:
      return "";
  }
}

const char* wordOf(Format format) {
  // In the order of Format.
  static constexpr const char* kWords[] = {"text",
                                           "json",
                                           "jsonl",
                                           "sarif",
                                           "svg",
                                           "png",
                                           "pdf",
                                           "csv",
                                           "parquet",
                                           "junit",
                                           "markdown",
                                           "bencher",
                                           "customSmallerIsBetter",
                                           "customBiggerIsBetter",
                                           "openmetrics"};
  return kWords[size_t(format)];
}

bool Console::print(std::string_view text) const { return put(shown(text, colourOut()), gone_, *this); }

bool Console::printRaw(std::string_view text) const {
  return isatty(STDOUT_FILENO) == 1 ? put(shown(text, false), gone_, *this) : put(text, gone_, *this);
}

int Console::finish(std::string_view text, int code) const { return print(text) ? code : kError; }

void Console::message(std::string_view text) const { rendered(oneMessage(text)); }

void Console::rendered(const std::string& text) const {
  base::tell(stderr, shown(text, colourErr()) + (text.ends_with('\n') ? "" : "\n"));
}

int Console::codeOf(Exit end) const {
  if (end) return *end;
  int code = kError;
  Error untold = llvm::handleErrors(end.takeError(), [&](std::unique_ptr<Ended> ended) -> Error {
    code = ended->code;
    return ended->message.empty() ? Error::success() : Error(std::move(ended));
  });
  if (untold) error(std::move(untold));
  return code;
}

int Console::error(Error error) const { return this->error(toString(std::move(error))); }

int Console::error(std::string_view text) const {
  constexpr unsigned kLongest = 4000;  // of names in a stranger's file, and with the way out at
  // its end
  const char* who = colourErr() ? "\033[1mexpc: \033[31merror:\033[0m " : "expc: error: ";
  rendered(who + oneMessage(base::elided(std::string(text), kLongest)));
  return kError;
}

bool Console::colourOut() const { return wantsColour(mode_, STDOUT_FILENO); }
bool Console::colourErr() const { return wantsColour(mode_, STDERR_FILENO); }

unsigned Console::width() const {
  winsize size{};
  // A terminal may report 0 columns, as under some remote shells.
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace expc::cli
