#pragma once

// The language server: LSP 3.17 over JSON-RPC 2.0. Three layers, from outside in: serve() runs the loop over two
// descriptors, Deframer cuts the bytes into messages, Server answers them and knows nothing of how they travel. One
// thread does everything.
//
// Order matters more than speed here. All waiting input is read before anything is answered, so that a cancellation
// overtakes the request it means; diagnostics are compiled only when nothing waits, so that of a burst of keys only the
// last state is compiled.

#include <llvm/Support/JSON.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/editor/features.h"
#include "compiler/editor/workspace.h"
#include "runtime/base/llvm.h"

namespace expc::editor {

/// The largest message, and the largest header, in bytes; larger ones are skipped. A study has at most 1 MiB, which
/// JSON's escapes make at most six times as long.
constexpr size_t kMaxBody = 16u << 20;
constexpr size_t kMaxHeader = 8192;

/// Cuts a stream of bytes into messages: `Content-Length: N`, an empty line, N bytes. Anything else is reported once
/// and skipped up to the next header, so that one broken message does not end the session.
class Deframer {
 public:
  /// A message, or an error.
  struct Item {
    std::string body;
    std::string error;  // if not empty, what was skipped and why; then there is no body
  };

  /// Appends bytes of the stream.
  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next message or error; nothing until more bytes come.
  std::optional<Item> next();

 private:
  /// Reads a header into `length_`; an error if it cannot be used, nothing if it is incomplete.
  std::optional<Item> header();

  std::string buffer_;
  // Bytes at the front of the buffer that hold no end of a header, so that none is searched twice.
  size_t searched_ = 0;
  size_t skip_ = 0;               // bytes still to skip of a body that is too large
  std::optional<size_t> length_;  // of the body that comes next; nothing while a header is read
  bool resync_ = false;           // whether garbage is being skipped up to the next header
};

/// A message as it is sent: its header and its body.
std::string frame(const json::Value& message);

/// The server behind one client: takes messages, sends messages through `send`.
class Server {
 public:
  /// Sends one message to the client; called on the thread that calls the server.
  using Send = std::function<void(json::Value)>;

  /// `disk` and `library` as for Workspace; `version` is what the server calls itself.
  Server(load::FileSystem disk, std::string library, std::string version, Send send);

  void setLimits(Workspace::Limits limits) { workspace_.limits = limits; }
  /// Takes a message, or an error of the stream, into the queue. A cancellation marks the request it means if that
  /// still waits.
  void enqueue(const Deframer::Item& item);
  /// Answers the next message of the queue; false if there is none, or after `exit`.
  bool step();
  /// Compiles one document whose diagnostics are out of date and publishes them; false if there is none. The caller
  /// calls it only when no message waits: while someone types, only the last state is worth compiling.
  bool publishNext();

  /// The exit code of the process, once the client said `exit`.
  std::optional<int> exitCode() const { return exit_code_; }
  /// Whether the client announced the end by `shutdown`, as it should before `exit`.
  bool wasShutDown() const { return state_ == State::ShutDown; }

 private:
  /// The life of a server as the protocol has it: `initialize`, then requests, then `shutdown`.
  enum class State { New, Running, ShutDown };
  /// A request or notification that waits.
  struct Message {
    std::optional<json::Value> id;  // of a request; notifications have none
    std::string method;
    json::Value params = nullptr;
    bool cancelled = false;
  };
  using Result = Expected<json::Value>;

  /// Checks that a JSON value is a message, and puts it into the queue.
  void take(json::Value value);
  /// Answers one request, or carries out one notification.
  void request(const Message& message);
  void notification(const Message& message);
  /// Sends the result of a request, or its error.
  void answer(const json::Value& id, Result result);
  /// Sends an error with a number of ErrorCode; `id` is null if the request could not be told.
  void fail(const json::Value& id, int code, const std::string& text);
  /// Sends a notification.
  void notify(StringRef method, json::Value params);

  // ---- the life of a server (server.cpp)
  /// Takes the client's capabilities and returns the server's.
  Result initialize(const json::Object& params);
  /// Asks the client to report changes of files, if it can.
  void initialized();

  // ---- texts and questions (server_documents.cpp)
  void didOpen(const json::Object& params);
  void didChange(const json::Object& params);
  void didSave(const json::Object& params);
  void didClose(const json::Object& params);
  /// The open document that a message names, or null.
  Document* named(const json::Object& params);
  /// Marks the document at a path, and those that import it, for publishing.
  void markStale(const std::string& path);
  /// Answers a question about a document.
  Result ask(const std::string& method, const json::Object& params);

  Workspace workspace_;
  std::string version_;
  Send send_;
  State state_ = State::New;
  std::optional<int> exit_code_;
  bool watch_files_ = false;  // whether the client can report changes of files
  std::deque<Message> queue_;
  /// Documents, by URI, whose diagnostics are out of date. The value says whether large grids are walked too, because
  /// the document was opened or saved.
  std::map<std::string, bool> stale_;
};

/// Serves one client over two descriptors until it says `exit` or closes the stream. Returns the exit code of the
/// process. `version` is what the server calls itself.
int serve(int input, int output, const std::string& version);

/// Error numbers of JSON-RPC 2.0 and LSP 3.17.
enum ErrorCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kServerNotInitialized = -32002,
  kRequestFailed = -32803,
  kRequestCancelled = -32800,
};

/// An error that is sent with this number. Errors of other kinds are sent as kRequestFailed.
Error protocolError(ErrorCode code, const std::string& text);

}  // namespace expc::editor
