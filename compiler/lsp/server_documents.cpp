// Texts as the editor changes them, and what is said about them.

#include <algorithm>

#include "compiler/lsp/server.h"

namespace expc::lsp {
namespace {

std::optional<std::string> uriFrom(const llvm::json::Object& params) {
  const llvm::json::Object* document = params.getObject("textDocument");
  const auto uri = document ? document->getString("uri") : std::nullopt;
  return uri ? std::optional(uri->str()) : std::nullopt;
}

}  // namespace

std::optional<Position> positionFrom(const llvm::json::Value* value) {
  const llvm::json::Object* object = value ? value->getAsObject() : nullptr;
  if (!object) return std::nullopt;
  const auto line = object->getInteger("line"), character = object->getInteger("character");
  if (!line || !character || *line < 0 || *character < 0) return std::nullopt;
  constexpr int64_t kMost = INT32_MAX;
  return Position{static_cast<uint32_t>(std::min(*line, kMost)), static_cast<uint32_t>(std::min(*character, kMost))};
}

std::optional<std::pair<Position, Position>> rangeFrom(const llvm::json::Value* value) {
  const llvm::json::Object* ends = value ? value->getAsObject() : nullptr;
  const auto begin = ends ? positionFrom(ends->get("start")) : std::nullopt;
  const auto end = ends ? positionFrom(ends->get("end")) : std::nullopt;
  return begin && end ? std::optional(std::pair(*begin, *end)) : std::nullopt;
}

void Server::didOpen(const llvm::json::Object& params) {
  const std::optional<std::string> uri = uriFrom(params);
  if (!uri) return;
  const llvm::json::Object& document = *params.getObject("textDocument");
  const auto text = document.getString("text");
  if (!text) return;
  const Document& opened = workspace_.open(*uri, document.getInteger("version").value_or(0), text->str());
  markStale(opened.path());
  stale_[*uri].saved = true;
}

/// The open document that a message is about; null where it names none.
Document* Server::named(const llvm::json::Object& params) {
  const std::optional<std::string> uri = uriFrom(params);
  return uri ? workspace_.find(*uri) : nullptr;
}

void Server::didChange(const llvm::json::Object& params) {
  Document* document = named(params);
  const llvm::json::Array* changes = params.getArray("contentChanges");
  if (!document || !changes) return;
  document->setVersion(params.getObject("textDocument")->getInteger("version").value_or(document->version()));
  for (const llvm::json::Value& value : *changes) {
    const llvm::json::Object* change = value.getAsObject();
    const auto text = change ? change->getString("text") : std::nullopt;
    if (!text) continue;
    if (!change->get("range"))
      document->replaceAll(text->str());
    else if (const auto ends = rangeFrom(change->get("range")))
      document->replace(ends->first, ends->second, *text, workspace_.encoding);
  }
  workspace_.changed();
  markStale(document->path());
}

void Server::didSave(const llvm::json::Object& params) {
  Document* document = named(params);
  if (!document) return;
  workspace_.changed();
  markStale(document->path());
  stale_[document->uri()].saved = true;
}

void Server::didClose(const llvm::json::Object& params) {
  Document* document = named(params);
  if (!document) return;
  const std::string uri = document->uri();
  markStale(document->path());  // its importers read the file on the disk again
  stale_.erase(uri);
  workspace_.close(uri);
  notify("textDocument/publishDiagnostics",
         llvm::json::Object{{"uri", clean(uri)}, {"diagnostics", llvm::json::Array{}}});
}

/// The document itself and the open ones that import it.
void Server::markStale(const std::string& path) {
  for (const auto& [uri, document] : workspace_.documents())
    if (document->path() == path || workspace_.mayImport(*document, path)) stale_[uri];
}

bool Server::publishNext() {
  if (stale_.empty() || state_ != State::Running) return false;
  const auto [uri, how] = *stale_.begin();
  stale_.erase(stale_.begin());
  const Document* document = workspace_.find(uri);
  if (!document) return true;
  Analysis& analysis = workspace_.analyse(*document);
  workspace_.verify(analysis, how.saved ? workspace_.limits.saved : workspace_.limits.typing);
  notify("textDocument/publishDiagnostics",
         llvm::json::Object{{"uri", clean(uri)},
                            {"version", document->version()},
                            {"diagnostics", diagnostics(workspace_, *document, analysis)}});
  return true;
}

}  // namespace expc::lsp
