#include <fmt/format.h>

#include <algorithm>

#include "compiler/driver/commands.h"
#include "compiler/explain/explain.h"

namespace expc::driver {

namespace {

std::string listing(bool colour) {
  size_t widest = 0;
  for (diag::Kind kind : diag::allKinds()) widest = std::max(widest, diag::slug(kind).size());
  std::string out;
  for (diag::Kind kind : diag::allKinds()) {
    const std::string_view code = diag::code(kind);
    const std::string shown =
        colour ? fmt::format("\x1b[{}m{}\x1b[0m", code[0] == 'E' ? "1;31" : "1;35", code) : std::string(code);
    out += fmt::format("{}  {:<{}}  {}\n", shown, diag::slug(kind), widest, explain::summary(kind));
  }
  return out;
}

}  // namespace

int explain(const ExplainOptions& options, const Console& console) {
  std::string text;
  if (options.list || !options.code) {
    text = listing(console.colourOut());
  } else {
    const std::optional<diag::Kind> kind = explain::find(*options.code);
    if (!kind) {
      const std::optional<std::string> near = explain::nearest(*options.code);
      return console.usage(fmt::format("there is no diagnostic '{}'; {}", *options.code,
                                       near ? fmt::format("did you mean '{}'?", *near)
                                            : std::string("'expc explain' without a code lists all of them")));
    }
    text = explain::renderMarkdown(explain::page(*kind), {console.textWidth(), console.colourOut()});
  }
  return console.finish(text);
}

}  // namespace expc::driver
