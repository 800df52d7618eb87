#include "tests/fuzz/talk.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "compiler/editor/server.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"

namespace expc::fuzz {

namespace {

constexpr const char* kUri = "file:///fuzz/a.exp";
constexpr const char* kImported = "file:///fuzz/jobs.exp";

void expect(bool good, const std::string& what) {
  if (good) return;
  fmt::print(stderr, "the language server {}\n", what);
  std::abort();
}

/// A server without a disk, and a count of what it said.
class Conversation {
 public:
  Conversation()
      : server_({[](const std::string& path) -> Expected<std::string> {
                  return llvm::createStringError("there is no file %s here", path.c_str());
                }},
                "", "fuzz", [this](json::Value message) { heard(message); }) {
    server_.setLimits({.typing = 2000, .saved = 2000});  // larger grids cost time and show nothing new
  }

  void bytes(std::string_view some) {
    deframer_.feed(some);
    while (const auto item = deframer_.next()) server_.enqueue(*item);
    while (server_.step()) {
    }
  }
  void say(json::Value message) { bytes(editor::frame(message)); }
  void notify(StringRef method, json::Value params) {
    say(json::Object{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
  }
  void request(StringRef method, json::Value params) {
    const size_t before = answers_;
    say(json::Object{{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", std::move(params)}});
    expect(answers_ == before + 1, "does not answer " + method.str());
  }
  void publish() {
    while (server_.publishNext()) {
    }
  }
  void hello(bool utf8) {
    json::Array encodings;
    if (utf8) encodings.push_back("utf-8");
    request("initialize",
            json::Object{{"capabilities",
                          json::Object{{"general", json::Object{{"positionEncodings", std::move(encodings)}}}}}});
  }

 private:
  void heard(const json::Value& message) {
    const std::string text = editor::frame(message);
    const size_t body = text.find("\r\n\r\n");
    Expected<json::Value> again = base::parseJson(std::string_view(text).substr(body + 4));
    expect(bool(again), "says what is no JSON");
    const json::Object* object = message.getAsObject();
    if (object && object->get("id") && !object->get("method")) ++answers_;
  }

  size_t answers_ = 0;
  int64_t id_ = 0;
  editor::Deframer deframer_;
  editor::Server server_;
};

/// Choices that follow from the input alone.
class Choices {
 public:
  explicit Choices(const std::string& input) : random_(uint32_t(std::hash<std::string>{}(input))) {}
  uint32_t below(uint32_t limit) { return limit == 0 ? 0 : random_() % limit; }

 private:
  std::minstd_rand random_;
};

json::Value place(Choices& choices, uint32_t lines) {
  return json::Object{{"line", choices.below(lines + 1)}, {"character", choices.below(60)}};
}

json::Object named(const char* uri) { return json::Object{{"textDocument", json::Object{{"uri", uri}}}}; }

void ask(Conversation& conversation, Choices& choices, uint32_t lines) {
  static constexpr const char* kMethods[] = {
      "hover",         "completion", "definition",     "references", "documentHighlight",
      "prepareRename", "rename",     "documentSymbol", "codeAction", "formatting"};
  const std::string method = kMethods[choices.below(std::size(kMethods))];
  json::Object params = named(kUri);
  params["position"] = place(choices, lines);
  params["newName"] = "other";
  params["range"] = json::Object{{"start", place(choices, lines)}, {"end", place(choices, lines)}};
  conversation.request("textDocument/" + method, std::move(params));
}

void edit(Conversation& conversation, Choices& choices, uint32_t lines, const std::string& input, int64_t version) {
  json::Object params = named(kUri);
  (*params.getObject("textDocument"))["version"] = version;
  const uint32_t size = uint32_t(input.size());
  const std::string piece = input.substr(choices.below(size), choices.below(20));
  params["contentChanges"] = json::Array{
      json::Object{{"range", json::Object{{"start", place(choices, lines)}, {"end", place(choices, lines)}}},
                   {"text", json::fixUTF8(piece)}}};
  conversation.notify("textDocument/didChange", std::move(params));
}

void open(Conversation& conversation, const char* uri, const std::string& text) {
  conversation.notify(
      "textDocument/didOpen",
      json::Object{{"textDocument",
                    json::Object{{"uri", uri}, {"languageId", "exp"}, {"version", 1}, {"text", json::fixUTF8(text)}}}});
}

/// The same bytes in pieces, with the server at work between them.
void overTheWire(const std::string& input) {
  Conversation conversation;
  Choices choices(input);
  for (size_t at = 0; at < input.size();) {
    const size_t piece = 1 + choices.below(200);
    conversation.bytes(std::string_view(input).substr(at, piece));
    conversation.publish();
    at += piece;
  }
}

}  // namespace

void talk(const std::string& input) {
  if (input.starts_with("Content")) return overTheWire(input);
  Conversation conversation;
  Choices choices(input);
  conversation.hello(choices.below(2) == 0);
  if (choices.below(4) == 0) open(conversation, kImported, input);
  open(conversation, kUri, input);
  conversation.publish();
  const uint32_t lines = uint32_t(std::count(input.begin(), input.end(), '\n')) + 1;
  for (int64_t step = 0; step < 12; ++step) {
    if (step % 4 == 3) {
      edit(conversation, choices, lines, input, step);
      conversation.publish();
    } else {
      ask(conversation, choices, lines);
    }
  }
  conversation.notify("textDocument/didClose", named(kUri));
  conversation.publish();
  conversation.request("shutdown", nullptr);
  conversation.notify("exit", nullptr);
}

}  // namespace expc::fuzz
