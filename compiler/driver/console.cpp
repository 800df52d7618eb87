#include "compiler/driver/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "compiler/driver/exit_codes.h"
#include "runtime/plan/printable.h"

namespace expc::driver {

namespace {

bool wantsColour(ColourMode mode, int descriptor) {
  if (mode != ColourMode::Auto) return mode == ColourMode::Always;
  const char* no_colour = std::getenv("NO_COLOR");  // https://no-color.org
  if (no_colour && *no_colour) return false;
  return isatty(descriptor) == 1;
}

}  // namespace

bool Console::print(std::string_view text) const {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return true;
  if (!std::exchange(gone_, true)) error("standard output took no more (closed pipe or full disk)");
  return false;
}

void Console::message(std::string_view text) const { rendered(plan::printableLines(text)); }

void Console::rendered(const std::string& text) const { plan::tell(stderr, text.ends_with('\n') ? text : text + "\n"); }

int Console::error(llvm::Error error) const { return this->error(llvm::toString(std::move(error))); }

int Console::error(std::string_view text) const {
  const char* who = colourErr() ? "\033[1mexpc: \033[31merror:\033[0m " : "expc: error: ";
  rendered(who + plan::printableLines(text));
  return kError;
}

int Console::usage(std::string_view text) const {
  error(text);
  return kUsage;
}

bool Console::colourOut() const { return wantsColour(mode_, STDOUT_FILENO); }
bool Console::colourErr() const { return wantsColour(mode_, STDERR_FILENO); }

unsigned Console::width() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace expc::driver
