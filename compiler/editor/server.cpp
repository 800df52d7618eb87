// Messages: checking and queueing them, the life of a server, framing, and the loop over the descriptors. Texts and
// questions are in server_documents.cpp.
//
// Nothing that a client sends may end the process: each broken message is answered with an error, if at all possible
// with its id, and the stream is picked up at the next header.

#include "compiler/editor/server.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace expc::editor {

using json::Object;
using json::Value;
namespace {

bool isId(const Value& value) { return value.kind() == Value::String || value.kind() == Value::Number; }

/// The value as an object; an empty one if it is none, so that members are simply missing.
const Object& asObject(const Value& value) {
  static const Object kNone;
  const Object* object = value.getAsObject();
  return object ? *object : kNone;
}

/// Whether a setting of the client's capabilities, at a path of nested objects, is true.
bool offers(const Object& capabilities, std::initializer_list<StringRef> path) {
  const Object* at = &capabilities;
  for (const StringRef* step = path.begin(); step + 1 != path.end(); ++step)
    if (!(at = at->getObject(*step))) return false;
  return at->getBoolean(*(path.end() - 1)).value_or(false);
}

bool offersUtf8(const Object& capabilities) {
  const Object* general = capabilities.getObject("general");
  const json::Array* offered = general ? general->getArray("positionEncodings") : nullptr;
  if (!offered) return false;
  for (const Value& encoding : *offered)
    if (encoding.getAsString() == StringRef("utf-8")) return true;
  return false;
}

}  // namespace

Error protocolError(ErrorCode code, const std::string& text) {
  // The number travels as an error code of the generic category; answer() takes it out again.
  return llvm::createStringError(std::error_code(code, std::generic_category()), text);
}

Server::Server(load::FileSystem disk, std::string library, std::string version, Send send)
    : workspace_(std::move(disk), std::move(library)), version_(std::move(version)), send_(std::move(send)) {}

// ---- messages

void Server::enqueue(const Deframer::Item& item) {
  if (!item.error.empty()) return fail(nullptr, kParseError, "skipped " + item.error);
  Expected<Value> value = parseJson(item.body);
  if (!value) return fail(nullptr, kParseError, jsonText(toString(value.takeError())));
  take(std::move(*value));
}

void Server::take(Value value) {
  Object* object = value.getAsObject();
  if (!object) return fail(nullptr, kInvalidRequest, "a message is an object; there are no batches here");
  // Checked from the outside in, so that each error is sent with the id if there is a valid one.
  const Value* id = object->get("id");
  if (id && !isId(*id)) return fail(nullptr, kInvalidRequest, "an id is a number or a string");
  if (object->getString("jsonrpc") != StringRef("2.0"))
    return fail(id ? *id : nullptr, kInvalidRequest, "a message says \"jsonrpc\": \"2.0\"");
  const Value* method = object->get("method");
  // The client's answer to a request of ours; none is awaited.
  if (!method && id && (object->get("result") || object->get("error"))) return;
  if (!method || !method->getAsString()) return fail(id ? *id : nullptr, kInvalidRequest, "a message names its method");
  Message message;
  if (id) message.id = *id;
  message.method = method->getAsString()->str();
  if (Value* params = object->get("params")) message.params = std::move(*params);
  // A cancellation is handled at once: in the queue it would come behind the request that it means.
  if (message.method == "$/cancelRequest" && !message.id) {
    const Value* wanted = asObject(message.params).get("id");
    for (Message& waiting : queue_)
      if (wanted && waiting.id && *waiting.id == *wanted) waiting.cancelled = true;
    return;
  }
  queue_.push_back(std::move(message));
}

bool Server::step() {
  if (queue_.empty() || exit_code_) return false;
  const Message message = std::move(queue_.front());
  queue_.pop_front();
  if (message.id) {
    request(message);
  } else {
    notification(message);
  }
  return true;
}

void Server::request(const Message& message) {
  const Value& id = *message.id;
  if (message.cancelled) return fail(id, kRequestCancelled, "cancelled");
  if (message.method == "initialize") {
    if (state_ != State::New) return fail(id, kInvalidRequest, "initialize comes once");
    if (!message.params.getAsObject()) return fail(id, kInvalidParams, "initialize takes an object");
    return answer(id, initialize(asObject(message.params)));
  }
  if (state_ == State::New) return fail(id, kServerNotInitialized, "initialize comes first");
  if (state_ == State::ShutDown) return fail(id, kInvalidRequest, "the server was shut down; only exit is left");
  if (message.method == "shutdown") {
    state_ = State::ShutDown;
    return answer(id, nullptr);
  }
  answer(id, ask(message.method, asObject(message.params)));
}

void Server::notification(const Message& message) {
  if (message.method == "exit") {
    // The protocol's rule: an exit without shutdown is a failure.
    exit_code_ = state_ == State::ShutDown ? 0 : 1;
    return;
  }
  if (state_ != State::Running) return;
  const Object& params = asObject(message.params);
  if (message.method == "initialized") return initialized();
  if (message.method == "textDocument/didOpen") return didOpen(params);
  if (message.method == "textDocument/didChange") return didChange(params);
  if (message.method == "textDocument/didSave") return didSave(params);
  if (message.method == "textDocument/didClose") return didClose(params);
  if (message.method == "workspace/didChangeWatchedFiles") {
    workspace_.changed();
    // Which documents import the changed files is not looked up: changes on the disk are rare. The subscript adds an
    // entry and keeps one that is there.
    for (const auto& [uri, document] : workspace_.documents()) stale_[uri];
  }
}

void Server::answer(const Value& id, Result result) {
  if (result) return send_(Object{{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(*result)}});
  int code = kRequestFailed;
  std::string text;
  llvm::handleAllErrors(result.takeError(), [&](const llvm::ErrorInfoBase& error) {
    const std::error_code own = error.convertToErrorCode();
    if (own.category() == std::generic_category()) code = own.value();
    text = error.message();
  });
  fail(id, code, jsonText(text));
}

void Server::fail(const Value& id, int code, const std::string& text) {
  send_(Object{{"jsonrpc", "2.0"}, {"id", id}, {"error", Object{{"code", code}, {"message", text}}}});
}

void Server::notify(StringRef method, Value params) {
  send_(Object{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

// ---- the life of a server

Server::Result Server::initialize(const Object& params) {
  state_ = State::Running;
  if (const Object* capabilities = params.getObject("capabilities")) {
    // UTF-8 is preferred, since columns are then bytes and need no counting.
    if (offersUtf8(*capabilities)) workspace_.encoding = Encoding::Utf8;
    workspace_.snippets = offers(*capabilities, {"textDocument", "completion", "completionItem", "snippetSupport"});
    watch_files_ = offers(*capabilities, {"workspace", "didChangeWatchedFiles", "dynamicRegistration"});
  }
  // "change": 2 asks for changes instead of whole texts; "includeText": the text is known when it is saved.
  Object server{
      {"positionEncoding", workspace_.encoding == Encoding::Utf8 ? "utf-8" : "utf-16"},
      {"textDocumentSync", Object{{"openClose", true}, {"change", 2}, {"save", Object{{"includeText", false}}}}},
      {"hoverProvider", true},
      {"completionProvider", Object{{"triggerCharacters", {".", "{", "(", "[", ",", "="}}}},
      {"definitionProvider", true},
      {"referencesProvider", true},
      {"documentHighlightProvider", true},
      {"documentSymbolProvider", true},
      {"codeActionProvider", Object{{"codeActionKinds", {"quickfix", "source.fixAll"}}}},
      {"documentFormattingProvider", true},
      {"renameProvider", Object{{"prepareProvider", true}}},
  };
  return Object{{"capabilities", std::move(server)}, {"serverInfo", Object{{"name", "expc"}, {"version", version_}}}};
}

void Server::initialized() {
  if (!watch_files_) return;
  // An imported file may change without being open, by an editor or a checkout, so the client watches the disk.
  const Object watcher{{"globPattern", "**/*.exp"}};
  send_(Object{{"jsonrpc", "2.0"},
               {"id", "expc/watch"},
               {"method", "client/registerCapability"},
               {"params", Object{{"registrations",
                                  {Object{{"id", "expc/watch"},
                                          {"method", "workspace/didChangeWatchedFiles"},
                                          {"registerOptions", Object{{"watchers", {Object(watcher)}}}}}}}}}});
}

// ---- how messages travel

namespace {

constexpr llvm::StringLiteral kField = "content-length:";

/// The length that a header states; nothing if it has no such field. Sets `malformed` if the length is no number or is
/// given twice.
std::optional<size_t> lengthIn(StringRef header, bool& malformed) {
  std::optional<size_t> length;
  llvm::SmallVector<StringRef, 4> lines;
  header.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    if (!line.starts_with_insensitive(kField)) continue;
    const StringRef value = line.drop_front(kField.size()).trim();
    unsigned long long number = 0;
    const bool digits = !value.empty() && value.find_if_not(llvm::isDigit) == StringRef::npos;
    if (!digits || value.getAsInteger(10, number) || length) malformed = true;
    length = size_t(number);
  }
  return length;
}

/// Whether input can be read without blocking.
bool waits(int input) {
  pollfd entry{input, POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

/// Reads the input that is there, waiting for it if there is none; returns the number of bytes, 0 at the end or after
/// an error.
size_t readSome(int input, char* buffer, size_t size) {
  for (;;) {
    const ssize_t count = ::read(input, buffer, size);
    if (count < 0 && errno == EINTR) continue;
    return count < 0 ? 0 : size_t(count);
  }
}

}  // namespace

std::optional<Deframer::Item> Deframer::header() {
  if (resync_) {
    const size_t at = StringRef(buffer_).find_insensitive(kField);
    if (at == StringRef::npos) {
      // The field may begin in the last bytes, so these stay.
      if (buffer_.size() > kField.size()) buffer_.erase(0, buffer_.size() - kField.size());
      return std::nullopt;
    }
    buffer_.erase(0, at);
    resync_ = false;
    searched_ = 0;
  }
  // An empty line ends the header.
  const size_t end = buffer_.find("\r\n\r\n", searched_);
  if (end == std::string::npos || end > kMaxHeader) {
    if (end == std::string::npos && buffer_.size() <= kMaxHeader) {
      // The end of the header may begin in the last three bytes.
      searched_ = buffer_.size() < 3 ? 0 : buffer_.size() - 3;
      return std::nullopt;
    }
    // Too long for a header: drop it and look for the next one.
    buffer_.erase(0, kMaxHeader);
    searched_ = 0;
    resync_ = true;
    return Item{"", fmt::format("a header of more than {} bytes", kMaxHeader)};
  }
  bool malformed = false;
  const std::optional<size_t> length = lengthIn(StringRef(buffer_).take_front(end), malformed);
  buffer_.erase(0, end + 4);
  searched_ = 0;
  if (!length || malformed) {
    resync_ = true;
    return Item{"", "a header without a Content-Length that is a number"};
  }
  if (*length > kMaxBody) {
    // The body is skipped as it arrives; it is never held in memory.
    skip_ = *length;
    return Item{"", fmt::format("a message of {} bytes; {} is the most", *length, kMaxBody)};
  }
  length_ = length;
  return std::nullopt;
}

std::optional<Deframer::Item> Deframer::next() {
  // The rest of a body that was too large.
  if (skip_ > 0) {
    const size_t now = std::min(skip_, buffer_.size());
    buffer_.erase(0, now);
    skip_ -= now;
    if (skip_ > 0) return std::nullopt;
  }
  if (!length_) {
    std::optional<Item> error = header();
    if (error || !length_) return error;
  }
  if (buffer_.size() < *length_) return std::nullopt;
  Item item{buffer_.substr(0, *length_), ""};
  buffer_.erase(0, *length_);
  length_.reset();
  return item;
}

std::string frame(const Value& message) {
  std::string body;
  llvm::raw_string_ostream out(body);
  out << message;
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

int serve(int input, int output, const std::string& version) {
  // Whether the client no longer reads; the loop ends then, since answers would go nowhere.
  bool gone = false;
  Server server(load::FileSystem::real(), libraryFolder(), version,
                [&](Value message) { gone = gone || files::writeAll(output, frame(message)) != 0; });
  Deframer deframer;
  std::string buffer(1 << 16, '\0');
  for (;;) {
    // Waiting input is read before anything is answered, so that a cancellation or the next key overtakes slow work.
    if (waits(input)) {
      const size_t count = readSome(input, buffer.data(), buffer.size());
      if (count == 0) break;
      deframer.feed(std::string_view(buffer).substr(0, count));
      while (const auto item = deframer.next()) server.enqueue(*item);
      continue;
    }
    if (server.step()) {
      if (server.exitCode()) return *server.exitCode();
    } else if (!server.publishNext()) {
      pollfd entry{input, POLLIN, 0};
      // Nothing to do until the client sends more.
      if (::poll(&entry, 1, -1) < 0 && errno != EINTR) break;
    }
    if (gone) break;
  }
  // The client closed the stream. Its earlier requests are still answered, as long as it listens.
  while (!gone && server.step()) {
  }
  if (server.exitCode()) return *server.exitCode();
  return server.wasShutDown() ? 0 : 1;
}

}  // namespace expc::editor
