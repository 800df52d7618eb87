#include "compiler/driver/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace expc::driver {

namespace {

bool wantsColour(ColourMode mode, int descriptor) {
  if (mode != ColourMode::Auto) return mode == ColourMode::Always;
  const char* no_colour = std::getenv("NO_COLOR");  // https://no-color.org
  if (no_colour && *no_colour) return false;
  return isatty(descriptor) == 1;
}

void writeErr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

}  // namespace

bool Console::print(std::string_view text) const {
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
}

void Console::message(std::string_view text) const {
  writeErr(text);
  if (text.empty() || text.back() != '\n') writeErr("\n");
}

void Console::error(llvm::Error error) const {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase& info) { this->error(info.message()); });
}

void Console::error(std::string_view text) const {
  writeErr(colourErr() ? "\033[1mexpc: \033[31merror:\033[0m " : "expc: error: ");
  message(text);
}

bool Console::colourOut() const { return wantsColour(mode_, STDOUT_FILENO); }
bool Console::colourErr() const { return wantsColour(mode_, STDERR_FILENO); }

unsigned Console::width() const {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 100;
}

}  // namespace expc::driver
