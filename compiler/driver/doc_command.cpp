#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Path.h>

#include <algorithm>

#include "compiler/check/check.h"
#include "compiler/diag/closest.h"
#include "compiler/doc/render.h"
#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/parse/load.h"
#include "compiler/parse/parse.h"
#include "stdlib/stdlib.h"

namespace expc::driver {

namespace {

constexpr unsigned kMaxWidth = 100;

doc::ModulePage builtIn(std::string_view name) {
  source::SourceManager sources;
  diag::Collector collector;  // the built-in modules parse: a test of `check` sees to it
  diag::Emitter emitter(collector);
  const source::FileId file = sources.add(fmt::format("<stdlib>/{}.exp", name), std::string(*stdlib::module(name)));
  const ast::Module module = parse::parse(sources, file, emitter);
  return doc::modulePage(sources, module, fmt::format("std.{}", name), fmt::format("{}.", name));
}

/// Nothing after saying why.
std::optional<doc::ModulePage> ofFile(const std::string& path, const Console& console) {
  const load::FileSystem files = load::FileSystem::real();
  llvm::Expected<std::string> text = files.read(path);
  if (!text) {
    console.error(fmt::format("cannot read {}: {}", path, llvm::toString(text.takeError())));
    return std::nullopt;
  }
  Compilation compilation;
  diag::Emitter emitter(compilation.diagnostics);
  const std::optional<source::FileId> root = parse::load(compilation.sources, path, std::move(*text), emitter);
  std::optional<doc::ModulePage> page;
  if (root) {
    const ast::Module module = parse::parse(compilation.sources, *root, emitter);
    const llvm::StringRef stem = llvm::sys::path::stem(path);
    page = doc::modulePage(compilation.sources, module, path, (stem + ".").str());
  }
  if (emitter.errors() == 0) return page;
  showDiagnostics(compilation, console);
  return std::nullopt;
}

std::string listing() {
  size_t widest = 0;
  for (std::string_view name : stdlib::names()) widest = std::max(widest, name.size() + 4);
  std::string out;
  for (std::string_view name : stdlib::names())
    out += fmt::format("{:<{}}  {}\n", fmt::format("std.{}", name), widest, builtIn(name).summary());
  return out;
}

/// A module's page by its name, with or without "std.", else the page of a file.
std::optional<doc::ModulePage> pageOf(const std::string& what, const Console& console) {
  const std::string_view bare = std::string_view(what).starts_with("std.") ? std::string_view(what).substr(4) : what;
  if (stdlib::module(bare)) return builtIn(bare);
  const bool looks_like_module =
      what.find_first_of("/") == std::string::npos && !std::string_view(what).ends_with(".exp");
  if (!looks_like_module) return ofFile(what, console);
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
    text = listing();
  } else {
    std::optional<doc::ModulePage> page = pageOf(*options.module, console);
    if (!page) return kError;
    if (options.workload) {
      std::vector<std::string> names;
      for (const doc::WorkloadPage& workload : page->workloads) names.push_back(workload.name);
      if (!doc::keepWorkload(*page, *options.workload)) {
        const std::string all = names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
        console.error(fmt::format("{} has no workload '{}'; {}", page->title, *options.workload,
                                  diag::didYouMean(*options.workload, names, "it has " + all)));
        return kError;
      }
    }
    text = options.markdown ? doc::renderMarkdown(*page)
                            : doc::renderText(*page, {std::min(console.width(), kMaxWidth), console.colourOut()});
  }
  if (console.print(text)) return kSuccess;
  console.error("standard output took no more (closed pipe or full disk)");
  return kError;
}

}  // namespace expc::driver
