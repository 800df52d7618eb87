// Depth-first loading. `active` is the chain of files being loaded, which finds circles; `loaded` maps a
// normalized path to its module, so that a file imported along two paths is parsed once. A failed file is
// remembered too, as null, so that its error is reported once.

#include "compiler/parse/load.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "compiler/parse/parse.h"
#include "runtime/base/files/files.h"
#include "runtime/base/text.h"
#include "stdlib/stdlib.h"

namespace expc::load {
namespace {

EXPC_DIAGNOSTIC(UnknownModule, "unknown module '{0}'");
EXPC_DIAGNOSTIC(ImportNotFound, "cannot find '{0}'");
EXPC_DIAGNOSTIC(ImportUnreadable, "cannot read '{0}': {1}");
EXPC_DIAGNOSTIC(ImportCycle, "'{0}' imports itself");

// Limit on nested imports; loading recurses once per level.
constexpr size_t kMaxDepth = 64;
constexpr std::string_view kStdlib = "<stdlib>/";

/// The file's name without folder and extension.
std::string stem(std::string_view path) { return llvm::sys::path::stem(StringRef(path)).str(); }

/// Takes an error apart into its code and its message.
std::pair<std::error_code, std::string> apart(Error error) {
  std::pair<std::error_code, std::string> out;
  llvm::handleAllErrors(std::move(error),
                        [&](const llvm::ErrorInfoBase& info) { out = {info.convertToErrorCode(), info.message()}; });
  return out;
}

/// The state of one `load`.
struct Loader {
  source::SourceManager& sources;
  const FileSystem& files;
  diag::Emitter& emitter;
  std::string root_directory;
  Modules modules = {};
  std::vector<std::string> active = {};
  std::map<std::string, const Module*> loaded = {};

  /// Parses one file and loads what it imports. `key` identifies the file in `loaded` and `active`. Never null.
  const Module* load(source::FileId file, std::string key, std::string directory, std::string prefix, bool is_stdlib) {
    size_t before = emitter.errors();
    auto module = std::make_unique<Module>();
    module->ast = parse::parse(sources, file, emitter);
    modules.parsed &= emitter.errors() == before;
    module->path = std::string(sources.name(file));
    module->directory = std::move(directory);
    module->prefix = std::move(prefix);
    module->is_stdlib = is_stdlib;
    active.push_back(key);
    for (const ast::Import& import : module->ast.imports) bind(*module, import);
    active.pop_back();
    // After a syntax error nothing is checked against a reference, so its file is not read.
    for (const ast::ReferenceDecl& reference : module->ast.references) {
      const std::string relative = relativeTo(module->directory, reference.path.value);
      module->references.push_back(modules.parsed ? read(relative, reference.path.range, reference.path.value)
                                                  : std::nullopt);
    }
    loaded[key] = module.get();
    modules.all.push_back(std::move(module));
    return modules.all.back().get();
  }

  /// Enters an import under its name; reports a name that is used twice.
  void bind(Module& module, const ast::Import& import) {
    const std::string name = boundName(import);
    const auto* text = std::get_if<ast::StringLiteral>(&import.target);
    const Module* target =
        text ? openFile(module, import, text->value) : openStdlib(std::get<ast::QualifiedName>(import.target), import);
    if (!module.imports.emplace(name, target).second)
      diag::duplicateName(emitter, import.alias ? import.alias->range : import.target_range, "module", name,
                          std::ranges::find(module.ast.imports, name, boundName)->target_range);
  }

  /// A built-in module; null after reporting an unknown one.
  const Module* openStdlib(const ast::QualifiedName& path, const ast::Import& import) {
    const std::string text = base::joined(base::textsOf(path.parts, &ast::Identifier::name), ".");
    std::optional<std::string_view> found;
    if (path.parts.size() == 2 && path.parts[0].name == "std") found = stdlib::module(path.parts[1].name);
    if (!found) {
      std::vector<std::string> names;
      for (std::string_view name : stdlib::names()) names.push_back("std." + std::string(name));
      emitter.emit(import.target_range, UnknownModule, text)
          .suggest(import.target_range, text, names, [](const auto& known) {
            return fmt::format("built-in modules: {}; import a file by its path in quotes", diag::list(known));
          });
      return nullptr;
    }
    std::string key = std::string(kStdlib) + path.parts[1].name;
    if (auto known = loaded.find(key); known != loaded.end()) return known->second;
    source::FileId file = sources.add(key + ".exp", std::string(*found));
    return load(file, key, "", path.parts[1].name + ".", true);
  }

  /// A module in a file; null after a report, also after one for an earlier import of the same file.
  const Module* openFile(Module& module, const ast::Import& import, const std::string& written) {
    std::string relative = relativeTo(module.directory, written);
    std::string key = normalized(relative);
    // A file under way is not in `loaded` yet, so `active` alone finds circles.
    if (is_contained(active, key)) {
      emitter.emit(import.target_range, ImportCycle, written);
      return nullptr;
    }
    if (auto known = loaded.find(key); known != loaded.end()) return known->second;
    if (active.size() >= kMaxDepth) {
      emitter.emit(import.target_range, ImportUnreadable, written,
                   fmt::format("imports are nested more than {} deep", kMaxDepth));
      return nullptr;
    }
    // The embedded modules have no folder from which a path could start.
    if (module.is_stdlib) return nullptr;
    std::optional<std::string> text = read(relative, import.target_range, written);
    if (!text) return loaded[key] = nullptr;
    auto file = parse::load(sources, relativeTo(root_directory, relative), std::move(*text), emitter);
    if (!file) {
      modules.parsed = false;
      return loaded[key] = nullptr;
    }
    return load(*file, key, llvm::sys::path::parent_path(relative).str(), stem(written) + ".", false);
  }

  /// The text of a file; nothing after reporting why it cannot be read.
  std::optional<std::string> read(const std::string& relative, source::Range range, const std::string& written) {
    const std::string path = relativeTo(root_directory, relative);
    Expected<std::string> text = files.read(path);
    if (text) return std::move(*text);
    const auto [code, reason] = apart(text.takeError());
    if (code == std::errc::no_such_file_or_directory)
      emitter.emit(range, ImportNotFound, written).note("looked for {}", path);
    else
      emitter.emit(range, ImportUnreadable, written, reason);
    return std::nullopt;
  }
};

}  // namespace

FileSystem FileSystem::real() {
  return {[](const std::string& path) -> Expected<std::string> {
    auto buffer = files::read(path, files::kMostByHand);
    if (buffer) return std::string((*buffer)->getBuffer());
    auto [code, why] = apart(buffer.takeError());
    // The diagnostic names the file already.
    if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);
    return llvm::createStringError(code, why);
  }};
}

std::string relativeTo(std::string_view directory, std::string_view path) {
  llvm::SmallString<128> result;
  if (!llvm::sys::path::is_absolute(StringRef(path))) result = StringRef(directory);
  llvm::sys::path::append(result, StringRef(path));
  // Keep `..`: behind a symbolic link it leads to the link target's parent.
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/false);
  return std::string(result.str());
}

std::string normalized(std::string_view path) {
  llvm::SmallString<128> result{StringRef(path)};
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/true);
  return std::string(result.str());
}

std::string boundName(const ast::Import& import) {
  if (import.alias) return import.alias->name;
  const auto* text = std::get_if<ast::StringLiteral>(&import.target);
  return text ? stem(text->value) : std::get<ast::QualifiedName>(import.target).parts.back().name;
}

Modules load(source::SourceManager& sources, source::FileId root, const FileSystem& files, diag::Emitter& emitter) {
  const StringRef name = sources.name(root);
  Loader loader{sources, files, emitter, llvm::sys::path::parent_path(name).str()};
  loader.load(root, llvm::sys::path::filename(name).str(), "", "", false);
  return std::move(loader.modules);
}

}  // namespace expc::load
