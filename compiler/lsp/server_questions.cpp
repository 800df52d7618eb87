// What an editor asks about a place of a document.

#include <fmt/format.h>

#include "compiler/lsp/server.h"

namespace expc::lsp {

Server::Result Server::ask(const std::string& method, const llvm::json::Object& params) {
  const llvm::json::Object* named = params.getObject("textDocument");
  const auto uri = named ? named->getString("uri") : std::nullopt;
  if (!uri) return protocolError(kInvalidParams, fmt::format("{} names a textDocument", method));
  const Document* document = workspace_.find(uri->str());
  if (!document) return protocolError(kInvalidParams, fmt::format("{} is not open", clean(uri->str())));
  Query query{workspace_, *document, workspace_.analyse(*document)};
  if (method == "textDocument/documentSymbol") return outline(query);
  if (method == "textDocument/formatting") return formatting(query);
  if (method == "textDocument/codeAction") {
    const llvm::json::Object* range = params.getObject("range");
    const auto begin = range ? positionFrom(range->get("start")) : std::nullopt;
    const auto end = range ? positionFrom(range->get("end")) : std::nullopt;
    if (!begin || !end) return protocolError(kInvalidParams, "a range has a start and an end");
    query.offset = static_cast<uint32_t>(document->lines().offset(*begin, workspace_.encoding));
    // What was published of the grid is worth mending too.
    workspace_.verify(query.analysis, workspace_.limits.typing);
    llvm::json::Value all = actions(query, static_cast<uint32_t>(document->lines().offset(*end, workspace_.encoding)));
    return wanted(std::move(all), params.getObject("context"));
  }
  const std::optional<Position> position = positionFrom(params.get("position"));
  if (!position) return protocolError(kInvalidParams, fmt::format("{} names a position", method));
  query.offset = static_cast<uint32_t>(document->lines().offset(*position, workspace_.encoding));
  if (method == "textDocument/completion") return completion(query, snippets_);
  if (!query.analysis.loaded) return nullptr;
  if (method == "textDocument/hover") return hover(query);
  if (method == "textDocument/definition") return definition(query);
  if (method == "textDocument/documentHighlight") return highlights(query);
  if (method == "textDocument/prepareRename") return prepareRename(query);
  if (method == "textDocument/references") {
    const llvm::json::Object* context = params.getObject("context");
    return references(query, context && context->getBoolean("includeDeclaration").value_or(false));
  }
  const auto name = params.getString("newName");
  if (!name) return protocolError(kInvalidParams, "rename takes a newName");
  return rename(query, name->str());
}

/// Only the kinds of action that the client asks for; a kind covers those below it (`source` covers `source.fixAll`).
llvm::json::Value Server::wanted(llvm::json::Value actions, const llvm::json::Object* context) {
  const llvm::json::Array* kinds = context ? context->getArray("only") : nullptr;
  if (!kinds) return actions;
  llvm::json::Array kept;
  for (llvm::json::Value& action : *actions.getAsArray()) {
    const llvm::StringRef kind = action.getAsObject()->getString("kind").value_or("");
    for (const llvm::json::Value& value : *kinds) {
      const auto asked = value.getAsString();
      if (!asked || !(kind == *asked || (kind.starts_with(*asked) && kind[asked->size()] == '.'))) continue;
      kept.push_back(std::move(action));
      break;
    }
  }
  return kept;
}

}  // namespace expc::lsp
