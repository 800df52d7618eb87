#include <llvm/ADT/SmallString.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <cassert>

#include "compiler/check/checker.h"
#include "compiler/diag/closest.h"
#include "compiler/parse/load.h"
#include "compiler/parse/parse.h"
#include "stdlib/stdlib.h"

namespace expc::check {
namespace {

EXPC_DIAGNOSTIC(UnknownModule, Error, "there is no module '{0}'", std::string);
EXPC_DIAGNOSTIC(ImportNotFound, Error, "cannot find '{0}'", std::string_view);
EXPC_DIAGNOSTIC(ImportUnreadable, Error, "cannot read '{0}': {1}", std::string_view, std::string);
EXPC_DIAGNOSTIC(ImportCycle, Error, "'{0}' imports itself", std::string_view);

constexpr size_t kMaxDepth = 64;
constexpr std::string_view kStdlib = "<stdlib>/";

std::string lexical(std::string_view path) {
  llvm::SmallString<128> result{llvm::StringRef(path)};
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/true);
  return std::string(result.str());
}

std::string stem(std::string_view path) { return llvm::sys::path::stem(llvm::StringRef(path)).str(); }

class Loader {
 public:
  Loader(Context& context, const FileSystem& files, std::string root_directory)
      : context_(context), files_(files), root_directory_(std::move(root_directory)) {}

  ModuleScope* load(source::FileId file, std::string key, std::string directory, std::string prefix, bool is_stdlib) {
    size_t before = context_.emitter.errors();
    context_.program.modules.push_back(
        std::make_unique<ast::Module>(parse::parse(context_.sources, file, context_.emitter)));
    parsed_ &= context_.emitter.errors() == before;
    auto scope = std::make_unique<ModuleScope>();
    scope->ast = context_.program.modules.back().get();
    scope->path = std::string(context_.sources.name(file));
    scope->directory = std::move(directory);
    scope->prefix = std::move(prefix);
    scope->is_stdlib = is_stdlib;
    active_.push_back(key);
    for (const ast::Import& import : scope->ast->imports) bind(*scope, import);
    active_.pop_back();
    ModuleScope* result = scope.get();
    loaded_[key] = result;
    context_.program.scopes.push_back(std::move(scope));
    return result;
  }

  bool parsed() const { return parsed_; }

 private:
  void bind(ModuleScope& scope, const ast::Import& import) {
    std::string name;
    ModuleScope* target = nullptr;
    if (auto* text = std::get_if<ast::StringLiteral>(&import.target)) {
      name = stem(text->value);
      target = openFile(scope, import, text->value);
    } else {
      const ast::QualifiedName& module = std::get<ast::QualifiedName>(import.target);
      name = module.parts.back().name;
      target = openStdlib(module, import);
    }
    if (import.alias) name = import.alias->name;
    auto [at, fresh] = scope.imports.emplace(name, target);
    if (!fresh)
      errors::duplicateName(context_.emitter, import.alias ? import.alias->range : import.target_range, "module", name,
                            ranges_[{&scope, name}]);
    else
      ranges_[{&scope, name}] = import.target_range;
  }

  ModuleScope* openStdlib(const ast::QualifiedName& module, const ast::Import& import) {
    std::string text;
    for (const ast::Identifier& part : module.parts) text += (text.empty() ? "" : ".") + part.name;
    std::optional<std::string_view> found;
    if (module.parts.size() == 2 && module.parts[0].name == "std") found = stdlib::module(module.parts[1].name);
    if (!found) {
      std::vector<std::string> names;
      for (std::string_view name : stdlib::names()) names.push_back("std." + std::string(name));
      auto builder = context_.emitter.build(import.target_range, UnknownModule, text);
      if (auto best = diag::closest(text, names)) {
        builder.note({}, "did you mean '{}'?", *best).fix(import.target_range, *best);
      } else {
        builder.note({}, "built in {} {}; a file is imported by its path in quotes", names.size() == 1 ? "is" : "are",
                     errors::list(names));
      }
      builder.emit();
      return nullptr;
    }
    std::string key = std::string(kStdlib) + module.parts[1].name;
    if (auto known = loaded_.find(key); known != loaded_.end()) return known->second;
    source::FileId file = context_.sources.add(key + ".exp", std::string(*found));
    return load(file, key, "", module.parts[1].name + ".", true);
  }

  ModuleScope* openFile(ModuleScope& scope, const ast::Import& import, const std::string& written) {
    std::string relative = relativeTo(scope.directory, written);
    std::string key = lexical(relative);
    for (const std::string& open : active_)
      if (open == key) {
        context_.emitter.emit(import.target_range, ImportCycle, written);
        return nullptr;
      }
    if (auto known = loaded_.find(key); known != loaded_.end()) return known->second;
    std::string path = relativeTo(root_directory_, relative);
    if (active_.size() >= kMaxDepth) {
      context_.emitter.emit(import.target_range, ImportUnreadable, written,
                            fmt::format("imports are nested more than {} deep", kMaxDepth));
      return nullptr;
    }
    if (scope.is_stdlib) return nullptr;  // the stdlib reads no files
    llvm::Expected<std::string> text = files_.read(path);
    if (!text) {
      std::error_code code;
      std::string reason;
      llvm::handleAllErrors(text.takeError(), [&](const llvm::ErrorInfoBase& error) {
        code = error.convertToErrorCode();
        reason = error.message();
      });
      if (code == std::errc::no_such_file_or_directory) {
        context_.emitter.build(import.target_range, ImportNotFound, written).note({}, "looked for {}", path).emit();
      } else {
        context_.emitter.emit(import.target_range, ImportUnreadable, written, reason);
      }
      loaded_[key] = nullptr;
      return nullptr;
    }
    auto file = parse::load(context_.sources, path, std::move(*text), context_.emitter);
    if (!file) {
      parsed_ = false;
      return loaded_[key] = nullptr;
    }
    return load(*file, key, llvm::sys::path::parent_path(relative).str(), stem(written) + ".", false);
  }

  Context& context_;
  const FileSystem& files_;
  std::string root_directory_;
  bool parsed_ = true;
  std::vector<std::string> active_;
  std::map<std::string, ModuleScope*> loaded_;
  std::map<std::pair<const ModuleScope*, std::string>, source::Range> ranges_;
};

}  // namespace

FileSystem FileSystem::real() {
  return {[](const std::string& path) -> llvm::Expected<std::string> {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!buffer) return llvm::errorCodeToError(buffer.getError());
    return std::string((*buffer)->getBuffer());
  }};
}

std::optional<source::FileId> open(source::SourceManager& sources, const std::string& path, const FileSystem& files,
                                   diag::Emitter& emitter) {
  llvm::Expected<std::string> text = files.read(path);
  if (text) return parse::load(sources, path, std::move(*text), emitter);
  std::error_code code;
  std::string reason;
  llvm::handleAllErrors(text.takeError(), [&](const llvm::ErrorInfoBase& error) {
    code = error.convertToErrorCode();
    reason = error.message();
  });
  if (code == std::errc::no_such_file_or_directory) {
    emitter.emit({}, ImportNotFound, path);
  } else {
    emitter.emit({}, ImportUnreadable, path, reason);
  }
  return std::nullopt;
}

bool loadModules(Context& context, source::FileId root, const FileSystem& files) {
  std::string_view name = context.sources.name(root);
  Loader loader(context, files, directoryOf(name));
  std::string file = llvm::sys::path::filename(llvm::StringRef(name)).str();
  loader.load(root, file, "", "", false);
  return loader.parsed();
}

}  // namespace expc::check
