// The subcommands that help to write studies and neither measure nor judge: explain, doc, new, fmt, lsp and completion.
// Each prints what compiler/editor or the standard library holds; `new` writes one of the starters in cli/starters.

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Path.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/starter_from.h"
#include "cli/starters/starters.h"
#include "cli/subcommand.h"
#include "cli/version.h"
#include "compiler/check/expression.h"
#include "compiler/editor/explain.h"
#include "compiler/editor/module_page.h"
#include "compiler/editor/server.h"
#include "compiler/parse/parse.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "stdlib/stdlib.h"

namespace expc::cli {

namespace {

// ---- explain

/// `expc explain`
struct ExplainOptions {
  /// "E0203", "e0203" or "unknown-unit"; absent: list all diagnostics.
  std::optional<std::string> code;
  bool list = false;
};

/// Returns a line for each diagnostic: code, name and summary.
std::string allKinds(const editor::TextStyle& style) {
  size_t widest = 0;
  for (diag::Kind kind : diag::allKinds()) widest = std::max(widest, diag::slug(kind).size());
  std::string out;
  for (diag::Kind kind : diag::allKinds()) {
    const std::string_view code = diag::code(kind);
    out += fmt::format("{}  {:<{}}  {}\n", style.paint(code[0] == 'E' ? "1;31" : "1;35", code), diag::slug(kind),
                       widest, editor::summary(kind));
  }
  return out;
}

/// Prints the page of a diagnostic, or the list of all.
Exit explain(const ExplainOptions& options, const Console& console) {
  std::string text;
  if (options.list || !options.code) {
    text = allKinds({.colour = console.colourOut()});
  } else {
    const std::optional<diag::Kind> kind = editor::find(*options.code);
    if (!kind)
      return usage("unknown diagnostic '{}'; {}", *options.code,
                   diag::didYouMean(*options.code, editor::names(), "'expc explain' without a code lists all of them"));
    text = editor::renderMarkdown(editor::page(*kind), {console.textWidth(), console.colourOut()});
  }
  return console.finish(text);
}

void addExplain(const Commands& to) {
  auto [command, options] =
      to.add("explain", "Explain an error or warning: cause, examples, fix", explain, kPlainExitCodes);
  addOption(command, "code", "CODE", options.code, "Code or name, such as E0203 or unknown-unit (default: list all)");
  command.add_flag("--list", options.list, "List every diagnostic");
}

// ---- doc

/// `expc doc`
struct DocOptions {
  /// "std.image", "image" or a file; absent: list the built-in modules.
  std::optional<std::string> module;
  /// Show only this workload.
  std::optional<std::string> workload;
  bool markdown = false;
};

/// Returns the page of a built-in module, by its name with or without "std.", else of a file, as far as it can be read;
/// nothing if it is no text. `compilation` gets the diagnostics. The error says why the file cannot be opened.
Expected<std::optional<editor::ModulePage>> pageOf(const std::string& what, Compilation& compilation) {
  const std::string bare = what.starts_with("std.") ? what.substr(4) : what;
  const std::optional<std::string_view> own = stdlib::module(bare);
  std::string text = TRY(own ? std::string(*own) : load::FileSystem::real().read(what));
  const auto file = parse::load(compilation.sources, own ? fmt::format("<stdlib>/{}.exp", bare) : what, std::move(text),
                                compilation.emitter);
  if (!file) return std::nullopt;
  return editor::modulePage(compilation.sources, parse::parse(compilation.sources, *file, compilation.emitter),
                            own ? "std." + bare : what, (own ? bare : llvm::sys::path::stem(what).str()) + ".");
}

/// Returns a line for each built-in module. Their pages cannot fail, since they are part of this program.
std::string allModules() {
  size_t widest = 0;
  for (std::string_view name : stdlib::names()) widest = std::max(widest, name.size() + 4);
  std::string out;
  for (std::string_view name : stdlib::names()) {
    Compilation compilation;
    const std::string title = fmt::format("std.{}", name);
    out += fmt::format("{:<{}}  {}\n", title, widest, cantFail(pageOf(title, compilation))->summary);
  }
  return out;
}

/// Returns the page of a module or file. A word that can be no file gets suggestions of modules instead of "cannot
/// read".
Expected<editor::ModulePage> pageNamed(const std::string& what, const Console& console) {
  const std::string bare = what.starts_with("std.") ? what.substr(4) : what;
  // A word without a slash or ending can only be meant as a module.
  if (!stdlib::module(bare) && what.find('/') == std::string::npos && !what.ends_with(".exp")) {
    std::vector<std::string> names;
    for (std::string_view name : stdlib::names()) names.push_back("std." + std::string(name));
    return failure("unknown module '{}'; {}", what,
                   diag::didYouMean("std." + bare, names, "'expc doc' lists them, a file ends in .exp"));
  }
  Compilation compilation;
  auto page = pageOf(what, compilation);
  if (!page) return failure("cannot read {}: {}", what, page.takeError());
  if (compilation.emitter.errors() == 0) return std::move(**page);
  showDiagnostics(compilation, console);
  return ended(kError, "");
}

/// Prints the page of a module, or the list of all modules.
Exit doc(const DocOptions& options, const Console& console) {
  std::string text;
  if (!options.module) {
    text = allModules();
  } else {
    editor::ModulePage page = TRY(pageNamed(*options.module, console));
    if (options.workload) {
      const std::vector<std::string>& names = page.workloads;
      if (!is_contained(names, *options.workload)) {
        const std::string all = names.empty() ? "none" : llvm::join(names, ", ");
        return failure("{} has no workload '{}'; {}", page.title, *options.workload,
                       diag::didYouMean(*options.workload, names, fmt::format("it has {}", all)));
      }
      editor::keepWorkload(page, *options.workload);
    }
    text = options.markdown ? editor::renderMarkdown(page)
                            : editor::renderText(page, {console.textWidth(), console.colourOut()});
  }
  return console.finish(text);
}

void addDoc(const Commands& to) {
  auto [command, options] =
      to.add("doc", "Print what a module declares: workloads, parameters, metrics, enums", doc, kPlainExitCodes);
  addOption(command, "module", "MODULE|FILE", options.module,
            "A built-in module, such as std.image, or a file (.exp); default: list the built-in modules");
  addOption(command, "workload", "WORKLOAD", options.workload, "Only this workload of the module");
  addChoice<bool>(command, "--format", "FORMAT", options.markdown, {{"text", false}, {"markdown", true}},
                  "How to print (default text)");
}

// ---- new

/// `expc new`
struct NewOptions {
  /// The name of the study and, with .exp, of its file; may stand in a folder.
  std::string name = "starter";
  std::string workload = "image.mobilenet_v2";
  /// A file that a benchmark program wrote, which the study is to read.
  std::optional<std::string> from;
  /// Replace a file that is there.
  bool force = false;
};

/// Writes a starter under a new name and prints the commands that come next.
Exit newStudy(const NewOptions& options, const Console& console) {
  const auto* starter = std::ranges::find(kStarters, options.workload, [](const auto& one) { return one.first; });
  if (starter == std::end(kStarters)) {
    std::vector<std::string> names;
    for (const auto& [workload, file] : kStarters) names.emplace_back(workload);
    return usage("unknown starter '{}'; {}", options.workload,
                 diag::didYouMean(options.workload, names, fmt::format("--workload takes {}", fmt::join(names, ", "))));
  }
  std::filesystem::path path = options.name;
  if (path.extension() != ".exp") path += ".exp";
  const std::string name = path.stem().string();
  // The study is called like its file, so the file's name must be a name of the language.
  if (!parse::isName(name))
    return usage(
        "'{}' cannot name a study: a name has letters, digits and _, does not start with a digit, and is "
        "not a word of the language",
        name);
  // Every starter declares the study `starter` on a line of its own.
  constexpr std::string_view kStudy = "\nstudy starter {";
  std::string text(*starterText(starter->second));
  if (options.from) {
    auto output = TRY(files::read(*options.from));
    auto made = starterFrom(output->getBuffer(), *options.from);
    if (!made)
      return failure("{}: unknown format (known: {}); read other formats with `outputs csv(\"{}\")` or `json`",
                     *options.from, readersText(), *options.from);
    text = std::move(*made);
  }
  text.replace(text.find(kStudy), kStudy.size(), "\nstudy " + name + " {");
  const std::string shown = path.string();
  std::vector<std::pair<std::string, std::string>> written = {{shown, std::move(text)}};
  // Some starters come with the script that they start.
  if (const auto script = starterText(std::string(starter->second) + "_script"); script && !options.from)
    written.emplace_back(path.replace_extension(".py").string(), *script);
  std::string said;
  for (auto& [file, content] : written) {
    check::replaceAll(content, "starter.py", name + ".py");
    if (!options.force && files::isThere(file))
      return failure("{} exists; choose another name, or replace it with --force", file);
  }
  for (const auto& [file, content] : written) {
    if (Error error = files::write(file, content)) return failure("cannot write {}", std::move(error));
    said += fmt::format("wrote {}\n", file);
  }
  return console.finish(said + fmt::format("  expc check {0}\n  expc plan {0}\n  expc run {0}{1}\n", shown,
                                           options.from ? "" : " --preset quick"));
}

void addNew(const Commands& to) {
  auto [command, options] = to.add("new", "Write a commented study to start from", newStudy, kPlainExitCodes);
  addOption(command, "name", "NAME", options.name, "Name of the study; the file is NAME.exp")->capture_default_str();
  addOption(command, "--workload", "WORKLOAD", options.workload,
            "What it runs: command (a program of your own), torch (a PyTorch script of your own, which is written "
            "beside it), image.mobilenet_v2 or llm.finetune (both need torch)")
      ->capture_default_str();
  addOption(
      command, "--from", "FILE", options.from,
      "Read this output of a benchmark program (nccl-tests, google-benchmark, fio, …) instead: its rows become points")
      ->excludes("--workload");
  command.add_flag("--force", options.force, "Replace an existing file");
}

// ---- fmt, lsp

void addFmt(const Commands& to) {
  auto [command, options] =
      to.add("fmt", "Format study files", format,
             "Exit codes: 0 success, 1 error, or with --check a file that would change, 2 usage.");
  addOption(command, "paths", "PATH", options.paths,
            "Files and folders, or - to format standard input to standard output")
      ->required();
  command.add_flag("--check", options.check,
                   "Write nothing; list the files that would change, and exit with 1 if there are any");
  command.add_flag("--diff", options.diff, "Write nothing; print the changes");
}

/// Serves an editor. A person who calls it in a terminal is told what it is for, and it serves nevertheless.
Exit lsp(const bool&, const Console& console) {
  if (isatty(STDIN_FILENO) == 1)
    console.message(
        "expc lsp talks to an editor over standard input and output; docs/editors.md shows how to set one up");
  return expc::editor::serve(STDIN_FILENO, STDOUT_FILENO, std::string(kVersion));
}

}  // namespace

std::vector<std::string> workloadsOf(const std::string& module) {
  Compilation unheard;
  // Completion wants names or nothing: diagnostics stay unheard.
  const auto page = expectedToOptional(pageOf(module, unheard)).value_or(std::nullopt);
  return page ? page->workloads : std::vector<std::string>();
}

void addTools(const Commands& to) {
  addExplain(to);
  addFmt(to);
  addDoc(to);
  addNew(to);
  addDataTools(to);
  addStoreTools(to);

  auto [completion, shell] =
      to.add("completion", "Print a shell completion script", printCompletionScript, kPlainExitCodes);
  addOption(completion, "shell", "SHELL", shell, "bash, zsh or fish")->required();

  auto [server, stdio] = to.add("lsp", "Language server for editors (docs/editors.md)", lsp,
                                "Exit codes: 0 after shutdown and exit, 1 if the client left without them, 2 usage.");
  server.add_flag("--stdio", stdio,
                  "Talk over standard input and output; always on, for clients that pass this option");
}

}  // namespace expc::cli
