#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/Support/Path.h>

#include <algorithm>

#include "compiler/diag/names.h"
#include "compiler/doc/module_page.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/parse/parse.h"
#include "stdlib/stdlib.h"

namespace expc::driver {

namespace {

/// Nothing after saying why.
std::optional<doc::ModulePage> pageOf(const std::string& path, std::string text, const std::string& title,
                                      const std::string& prefix, const Console& console) {
  Compilation compilation;
  std::optional<doc::ModulePage> page;
  if (const auto file = parse::load(compilation.sources, path, std::move(text), compilation.emitter))
    page = doc::modulePage(compilation.sources, parse::parse(compilation.sources, *file, compilation.emitter), title,
                           prefix);
  if (compilation.emitter.errors() == 0) return page;
  showDiagnostics(compilation, console);
  return std::nullopt;
}

std::optional<doc::ModulePage> builtIn(std::string_view name, const Console& console) {
  return pageOf(fmt::format("<stdlib>/{}.exp", name), std::string(*stdlib::module(name)), fmt::format("std.{}", name),
                fmt::format("{}.", name), console);
}

std::string listing(const Console& console) {
  size_t widest = 0;
  for (std::string_view name : stdlib::names()) widest = std::max(widest, name.size() + 4);
  std::string out;
  for (std::string_view name : stdlib::names())
    out += fmt::format("{:<{}}  {}\n", fmt::format("std.{}", name), widest, builtIn(name, console)->summary);
  return out;
}

/// A module's page by its name, with or without "std.", else the page of a file.
std::optional<doc::ModulePage> pageNamed(const std::string& what, const Console& console) {
  const std::string_view bare = std::string_view(what).starts_with("std.") ? std::string_view(what).substr(4) : what;
  if (stdlib::module(bare)) return builtIn(bare, console);
  const bool looks_like_module =
      what.find_first_of("/") == std::string::npos && !std::string_view(what).ends_with(".exp");
  if (!looks_like_module) {
    llvm::Expected<std::string> text = load::FileSystem::real().read(what);
    if (text) return pageOf(what, std::move(*text), what, (llvm::sys::path::stem(what) + ".").str(), console);
    console.error(fmt::format("cannot read {}: {}", what, llvm::toString(text.takeError())));
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (std::string_view name : stdlib::names()) names.push_back("std." + std::string(name));
  console.error(
      fmt::format("there is no module '{}'; {}", what,
                  diag::didYouMean("std." + std::string(bare), names, "'expc doc' lists them, a file ends in .exp")));
  return std::nullopt;
}

}  // namespace

int doc(const DocOptions& options, const Console& console) {
  std::string text;
  if (!options.module) {
    text = listing(console);
  } else {
    std::optional<doc::ModulePage> page = pageNamed(*options.module, console);
    if (!page) return kError;
    if (options.workload) {
      const std::vector<std::string>& names = page->workloads;
      if (std::ranges::find(names, *options.workload) == names.end()) {
        const std::string all = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
        return console.error(fmt::format("{} has no workload '{}'; {}", page->title, *options.workload,
                                         diag::didYouMean(*options.workload, names, "it has " + all)));
      }
      doc::keepWorkload(*page, *options.workload);
    }
    text = options.markdown ? doc::renderMarkdown(*page)
                            : doc::renderText(*page, {console.textWidth(), console.colourOut()});
  }
  return console.finish(text);
}

}  // namespace expc::driver
