#include "compiler/lsp/workspace.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

#include "compiler/explain/explain.h"
#include "compiler/lower/lower.h"
#include "compiler/lsp/facts.h"
#include "compiler/lsp/library.h"
#include "compiler/lsp/uri.h"
#include "compiler/parse/parse.h"
#include "stdlib/stdlib.h"

namespace expc::lsp {
namespace {

constexpr std::string_view kLibrary = "<stdlib>/";

/// The size of the largest grid.
uint64_t combinations(const check::Program& program) {
  uint64_t most = 0;
  for (const auto& study : program.studies) most = std::max(most, productOf(*study));
  return most;
}

}  // namespace

std::string normalized(std::string_view path) {
  llvm::SmallString<128> result{llvm::StringRef(path)};
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/true);
  return std::string(result.str());
}

const LineIndex& Analysis::lines(source::FileId file) {
  auto [at, fresh] = lines_.try_emplace(file.index);
  if (fresh) at->second = LineIndex(sources.text(file));
  return at->second;
}

Document& Workspace::open(std::string uri, int64_t version, std::string text) {
  changed();
  // A buffer that was never saved has no folder; its URI names it, and what it imports is not found.
  std::string path = pathOf(uri).value_or(uri);
  auto& slot = documents_[uri];
  slot = std::make_unique<Document>(uri, std::move(path), version, std::move(text));
  return *slot;
}

void Workspace::close(const std::string& uri) {
  changed();
  documents_.erase(uri);
  cache_.erase(uri);
}

Document* Workspace::find(const std::string& uri) {
  const auto found = documents_.find(uri);
  return found == documents_.end() ? nullptr : found->second.get();
}

load::FileSystem Workspace::files(std::set<std::string>& read) const {
  return {[this, &read](const std::string& path) -> llvm::Expected<std::string> {
    const std::string wanted = normalized(path);
    read.insert(wanted);
    for (const auto& [uri, document] : documents_)
      if (document->path() == wanted) return document->text();
    return disk_.read(path);
  }};
}

std::unique_ptr<Analysis> Workspace::compile(const Document& document, std::set<std::string>& read) const {
  auto analysis = std::make_unique<Analysis>();
  diag::Emitter emitter(analysis->said);
  const auto root = parse::load(analysis->sources, document.path(), document.text(), emitter);
  if (root) {
    analysis->loaded = true;
    analysis->root = *root;
    analysis->program =
        check::check(analysis->sources, load::load(analysis->sources, *root, files(read), emitter), emitter);
    analysis->tokens = parse::tokens(analysis->sources, *root);
  }
  analysis->parsed = analysis->loaded && analysis->program.modules.parsed;
  return analysis;
}

Analysis& Workspace::analyse(const Document& document) {
  Cached& cached = cache_[document.uri()];
  if (!cached.analysis || cached.generation != generation_) {
    cached.analysis.reset();
    cached.read.clear();
    cached.analysis = compile(document, cached.read);
    cached.generation = generation_;
  }
  return *cached.analysis;
}

void Workspace::verify(Analysis& analysis, uint64_t most) {
  if (analysis.verified || !analysis.parsed || combinations(analysis.program) > most) return;
  analysis.verified = true;
  diag::Emitter emitter(analysis.said);
  points::verify(analysis.program, {}, emitter);
}

bool Workspace::mayImport(const Document& document, const std::string& path) const {
  const auto found = cache_.find(document.uri());
  return found == cache_.end() || !found->second.analysis || found->second.read.contains(path);
}

std::optional<std::string> Workspace::uri(Analysis& analysis, source::FileId file) {
  std::string_view name = analysis.sources.name(file);
  if (name.starts_with(kLibrary)) {
    name.remove_prefix(kLibrary.size());
    name.remove_suffix(std::min<size_t>(name.size(), 4));  // ".exp"
    const std::optional<std::string_view> text = stdlib::module(name);
    const auto path = text ? showText(library_, "stdlib", std::string(name) + ".exp", *text) : std::nullopt;
    return path ? std::optional(uriOf(*path)) : std::nullopt;
  }
  const std::string path = normalized(name);
  for (const auto& [uri, document] : documents_)
    if (document->path() == path) return uri;
  return uriOf(path);
}

std::optional<std::string> Workspace::explanation(diag::Kind kind) const {
  const std::optional<std::string> path =
      showText(library_, "explain", std::string(diag::code(kind)) + ".md", explain::page(kind));
  return path ? std::optional(uriOf(*path)) : std::nullopt;
}

}  // namespace expc::lsp
