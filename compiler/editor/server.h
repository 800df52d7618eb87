#pragma once

#include <llvm/Support/JSON.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "compiler/editor/features.h"
#include "compiler/editor/workspace.h"

namespace expc::editor {

/// Larger messages are skipped: a study has at most 1 MiB, which JSON may make six times as long.
constexpr size_t kMaxBody = 16u << 20;
constexpr size_t kMaxHeader = 8192;

/// Cuts a stream of bytes into messages: `Content-Length: N`, an empty line, N bytes. What is no message is reported
/// once and skipped, up to the next header.
class Deframer {
 public:
  struct Item {
    std::string body;
    std::string error;  // not empty: what was skipped and why; no body
  };

  void feed(std::string_view bytes) { buffer_.append(bytes); }
  /// The next message or error; nothing until more bytes come.
  std::optional<Item> next();

 private:
  std::optional<Item> header();

  std::string buffer_;
  size_t searched_ = 0;           // bytes of the buffer that hold no end of a header
  size_t skip_ = 0;               // bytes of a body that is too large
  std::optional<size_t> length_;  // of the body that is awaited
  bool resync_ = false;           // looking for a header
};

/// A message as it goes over the wire.
std::string frame(const llvm::json::Value& message);

/// The server behind one client: messages in, messages out, nothing of how they travel. LSP 3.17 over JSON-RPC 2.0.
class Server {
 public:
  using Send = std::function<void(llvm::json::Value)>;

  Server(load::FileSystem disk, std::string library, std::string version, Send send);

  void setLimits(Workspace::Limits limits) { workspace_.limits = limits; }
  /// Takes what came over the wire; a request that is cancelled before its turn is answered so.
  void enqueue(const Deframer::Item& item);
  /// Answers one message; false when there is none left.
  bool step();
  /// Compiles one document whose diagnostics are out of date and publishes them; false when there is none. To be called
  /// when no message waits: while someone types, only the last state is worth compiling.
  bool publishNext();

  /// Set by `exit`: what the process ends with.
  std::optional<int> exitCode() const { return exit_code_; }
  bool wasShutDown() const { return state_ == State::ShutDown; }

 private:
  enum class State { New, Running, ShutDown };
  struct Message {
    std::optional<llvm::json::Value> id;  // requests only
    std::string method;
    llvm::json::Value params = nullptr;
    bool cancelled = false;
  };
  using Result = llvm::Expected<llvm::json::Value>;

  void take(llvm::json::Value value);
  void request(const Message& message);
  void notification(const Message& message);
  void answer(const llvm::json::Value& id, Result result);
  void fail(const llvm::json::Value& id, int code, const std::string& text);
  void notify(llvm::StringRef method, llvm::json::Value params);

  // ---- the life of a server (server.cpp)
  Result initialize(const llvm::json::Object& params);
  void initialized();

  // ---- texts and questions (server_documents.cpp)
  void didOpen(const llvm::json::Object& params);
  void didChange(const llvm::json::Object& params);
  void didSave(const llvm::json::Object& params);
  void didClose(const llvm::json::Object& params);
  Document* named(const llvm::json::Object& params);
  void markStale(const std::string& path);
  Result ask(const std::string& method, const llvm::json::Object& params);

  Workspace workspace_;
  std::string version_;
  Send send_;
  State state_ = State::New;
  std::optional<int> exit_code_;
  bool watch_files_ = false;
  std::deque<Message> queue_;
  /// Documents (by URI) whose diagnostics are out of date, and whether also what takes longer is: they were saved.
  std::map<std::string, bool> stale_;
};

/// Serves one client over two descriptors until it says `exit` or goes away; the process's exit code. `version` is what
/// the server calls itself.
int serve(int input, int output, const std::string& version);

/// JSON-RPC's and LSP's numbers.
enum ErrorCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kServerNotInitialized = -32002,
  kRequestFailed = -32803,
  kRequestCancelled = -32800,
};

/// An error with one of these numbers.
llvm::Error protocolError(ErrorCode code, const std::string& text);

}  // namespace expc::editor
