// The half of the server that is about documents: texts as the editor changes them, the diagnostics that are published
// about them, and the dispatch of questions to features.h. Parameters come from outside, so each is checked; malformed
// notifications are dropped, malformed requests answered with kInvalidParams.

#include <algorithm>
#include <map>

#include "compiler/editor/server.h"
#include "runtime/base/format.h"

namespace expc::editor {

using json::Object;
using json::Value;
namespace {

/// The URI of the document that a message names.
std::optional<std::string> uriFrom(const Object& params) {
  const Object* document = params.getObject("textDocument");
  const auto uri = document ? document->getString("uri") : std::nullopt;
  return uri ? std::optional(uri->str()) : std::nullopt;
}

/// Reads a position; nothing if the value is none. Numbers beyond any text are cut to INT32_MAX, which the line index
/// takes for the end.
std::optional<Position> positionFrom(const Value* value) {
  const Object* object = value ? value->getAsObject() : nullptr;
  if (!object) return std::nullopt;
  const auto line = object->getInteger("line"), character = object->getInteger("character");
  if (!line || !character || *line < 0 || *character < 0) return std::nullopt;
  constexpr int64_t kMost = INT32_MAX;
  return Position{uint32_t(std::min(*line, kMost)), uint32_t(std::min(*character, kMost))};
}

/// Reads a range: its two ends.
std::optional<std::pair<Position, Position>> rangeFrom(const Value* value) {
  const Object* ends = value ? value->getAsObject() : nullptr;
  const auto begin = ends ? positionFrom(ends->get("start")) : std::nullopt;
  const auto end = ends ? positionFrom(ends->get("end")) : std::nullopt;
  return begin && end ? std::optional(std::pair(*begin, *end)) : std::nullopt;
}

}  // namespace

void Server::didOpen(const Object& params) {
  const std::optional<std::string> uri = uriFrom(params);
  if (!uri) return;
  const Object& document = *params.getObject("textDocument");
  const auto text = document.getString("text");
  if (!text) return;
  const Document& opened = workspace_.open(*uri, document.getInteger("version").value_or(0), text->str());
  // Other documents may import this one, and its unsaved text now counts.
  markStale(opened.path);
  stale_[*uri] = true;
}

/// The open document that a message is about; null if it names none.
Document* Server::named(const Object& params) {
  const std::optional<std::string> uri = uriFrom(params);
  return uri ? workspace_.find(*uri) : nullptr;
}

void Server::didChange(const Object& params) {
  Document* document = named(params);
  const json::Array* changes = params.getArray("contentChanges");
  if (!document || !changes) return;
  // Published diagnostics carry the version, so that an editor can drop those of an older text.
  document->version = params.getObject("textDocument")->getInteger("version").value_or(document->version);
  // Changes build on each other: each is relative to the text after the one before. One without a range is a whole
  // text.
  for (const Value& value : *changes) {
    const Object* change = value.getAsObject();
    const auto text = change ? change->getString("text") : std::nullopt;
    if (!text) continue;
    if (!change->get("range"))
      document->replaceAll(text->str());
    else if (const auto ends = rangeFrom(change->get("range")))
      document->replace(ends->first, ends->second, *text, workspace_.encoding);
  }
  workspace_.changed();
  markStale(document->path);
}

void Server::didSave(const Object& params) {
  Document* document = named(params);
  if (!document) return;
  workspace_.changed();
  markStale(document->path);
  stale_[document->uri] = true;
}

void Server::didClose(const Object& params) {
  Document* document = named(params);
  if (!document) return;
  const std::string uri = document->uri;
  markStale(document->path);  // its importers read the file on the disk again
  stale_.erase(uri);
  workspace_.close(uri);
  // An empty list clears the problems that the editor shows.
  notify("textDocument/publishDiagnostics", Object{{"uri", jsonText(uri)}, {"diagnostics", json::Array{}}});
}

/// Marks the document at `path`, and the open ones that import it, for publishing. The subscript adds an entry and
/// keeps one that is there, so a pending walk of large grids is not forgotten.
void Server::markStale(const std::string& path) {
  for (const auto& [uri, document] : workspace_.documents())
    if (document->path == path || workspace_.mayImport(*document, path)) stale_[uri];
}

bool Server::publishNext() {
  if (stale_.empty() || state_ != State::Running) return false;
  const auto [uri, saved] = *stale_.begin();
  stale_.erase(stale_.begin());
  const Document* document = workspace_.find(uri);
  if (!document) return true;
  // Grids are walked up to the size that fits the occasion; a larger one has no lints until the document is saved.
  Analysis& analysis = workspace_.analyse(*document);
  workspace_.verify(analysis, saved ? workspace_.limits.saved : workspace_.limits.typing);
  notify("textDocument/publishDiagnostics", Object{{"uri", jsonText(uri)},
                                                   {"version", document->version},
                                                   {"diagnostics", diagnostics({workspace_, *document, analysis})}});
  return true;
}

// ---- questions

namespace {

using Result = Expected<Value>;
using Params = Object;

/// The actions of the kinds that the client asks for; a kind covers those below it (`source` covers `source.fixAll`).
Value wanted(Value actions, const Object* context) {
  const json::Array* kinds = context ? context->getArray("only") : nullptr;
  if (!kinds) return actions;
  json::Array kept;
  for (Value& action : *actions.getAsArray()) {
    const StringRef kind = action.getAsObject()->getString("kind").value_or("");
    for (const Value& value : *kinds) {
      const auto asked = value.getAsString();
      // "source" asks for everything below it, but "sour" for nothing: a prefix must end at a dot.
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
    return uint32_t(query.document.lines.offset(position, query.workspace.encoding));
  };
  // Lints of the grid have mends too, and they may not have been computed for this analysis.
  query.workspace.verify(query.analysis, query.workspace.limits.typing);
  const Query from{query.workspace, query.document, query.analysis, offset(ends->first)};
  return wanted(actions(from, offset(ends->second)), params.getObject("context"));
}

Result referencesTo(const Query& query, const Params& params) {
  const Object* context = params.getObject("context");
  return references(query, context && context->getBoolean("includeDeclaration").value_or(false));
}

Result renameTo(const Query& query, const Params& params) {
  const auto name = params.getString("newName");
  if (!name) return protocolError(kInvalidParams, "rename takes a newName");
  return rename(query, name->str());
}

/// A question that needs nothing but the document and the place.
template <Value (*Answer)(const Query&)>
Result plain(const Query& query, const Params&) {
  return Answer(query);
}

using Questions = std::map<std::string_view, Result (*)(const Query&, const Params&)>;
// Questions about a whole document, and questions about a place in one, by the protocol's methods.
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

Server::Result Server::ask(const std::string& method, const Object& params) {
  // Checks in this order give the most useful error: the method first, then the document, then the position.
  const auto whole = kOfDocument.find(method), placed = kOfPlace.find(method);
  if (whole == kOfDocument.end() && placed == kOfPlace.end())
    return protocolError(kMethodNotFound, fmt::format("unknown method '{}'", jsonText(method)));
  const std::optional<std::string> uri = uriFrom(params);
  if (!uri) return protocolError(kInvalidParams, fmt::format("{} names a textDocument", method));
  const Document* document = workspace_.find(*uri);
  if (!document) return protocolError(kInvalidParams, fmt::format("{} is not open", jsonText(*uri)));
  Query query{workspace_, *document, workspace_.analyse(*document)};
  if (whole != kOfDocument.end()) return whole->second(query, params);
  const std::optional<Position> position = positionFrom(params.get("position"));
  if (!position) return protocolError(kInvalidParams, fmt::format("{} names a position", method));
  // The position is mapped by the document's text, which equals the one that was just compiled.
  query.offset = uint32_t(document->lines.offset(*position, workspace_.encoding));
  return placed->second(query, params);
}

}  // namespace expc::editor
