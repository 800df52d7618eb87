// What an editor asks about a document.

#include <fmt/format.h>

#include <map>

#include "compiler/lsp/server.h"

namespace expc::lsp {
namespace {

using Result = llvm::Expected<llvm::json::Value>;
using Params = llvm::json::Object;

/// Only the kinds of action that the client asks for; a kind covers those below it (`source` covers `source.fixAll`).
llvm::json::Value wanted(llvm::json::Value actions, const llvm::json::Object* context) {
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

Result actionsIn(const Query& query, const Params& params) {
  const auto ends = rangeFrom(params.get("range"));
  if (!ends) return protocolError(kInvalidParams, "a range has a start and an end");
  const auto offset = [&](Position position) {
    return static_cast<uint32_t>(query.document.lines().offset(position, query.workspace.encoding));
  };
  // What was published of the grid is worth mending too.
  query.workspace.verify(query.analysis, query.workspace.limits.typing);
  const Query from{query.workspace, query.document, query.analysis, offset(ends->first)};
  return wanted(actions(from, offset(ends->second)), params.getObject("context"));
}

Result referencesTo(const Query& query, const Params& params) {
  const llvm::json::Object* context = params.getObject("context");
  return references(query, context && context->getBoolean("includeDeclaration").value_or(false));
}

Result renameTo(const Query& query, const Params& params) {
  const auto name = params.getString("newName");
  if (!name) return protocolError(kInvalidParams, "rename takes a newName");
  return rename(query, name->str());
}

/// A question that needs no more than the place.
template <llvm::json::Value (*Answer)(const Query&)>
Result plain(const Query& query, const Params&) {
  return Answer(query);
}

using Questions = std::map<std::string_view, Result (*)(const Query&, const Params&)>;
const Questions kOfDocument = {{"textDocument/documentSymbol", plain<outline>},
                               {"textDocument/formatting", plain<formatting>},
                               {"textDocument/codeAction", actionsIn}};
const Questions kOfPlace = {{"textDocument/completion", plain<completion>},
                            {"textDocument/hover", plain<hover>},
                            {"textDocument/definition", plain<definition>},
                            {"textDocument/documentHighlight", plain<highlights>},
                            {"textDocument/prepareRename", plain<prepareRename>},
                            {"textDocument/references", referencesTo},
                            {"textDocument/rename", renameTo}};

}  // namespace

Server::Result Server::ask(const std::string& method, const llvm::json::Object& params) {
  const auto whole = kOfDocument.find(method), placed = kOfPlace.find(method);
  if (whole == kOfDocument.end() && placed == kOfPlace.end())
    return protocolError(kMethodNotFound, fmt::format("there is no method '{}'", clean(method)));
  const llvm::json::Object* named = params.getObject("textDocument");
  const auto uri = named ? named->getString("uri") : std::nullopt;
  if (!uri) return protocolError(kInvalidParams, fmt::format("{} names a textDocument", method));
  const Document* document = workspace_.find(uri->str());
  if (!document) return protocolError(kInvalidParams, fmt::format("{} is not open", clean(uri->str())));
  Query query{workspace_, *document, workspace_.analyse(*document)};
  if (whole != kOfDocument.end()) return whole->second(query, params);
  const std::optional<Position> position = positionFrom(params.get("position"));
  if (!position) return protocolError(kInvalidParams, fmt::format("{} names a position", method));
  query.offset = static_cast<uint32_t>(document->lines().offset(*position, workspace_.encoding));
  return placed->second(query, params);
}

}  // namespace expc::lsp
