#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

#include "runtime/base/files/files.h"
#include "runtime/base/json.h"
#include "runtime/engine/nodes/agent.h"

using namespace expc;
using namespace expc::engine::nodes;
using llvm::json::Object;

namespace {

/// The engine's and the agent's end, and what a shell between them may write on.
struct Conversation {
  int to[2], from[2];
  Lines engine, agent;
  explicit Conversation(const std::string& log = "") {
    REQUIRE(pipe2(to, O_CLOEXEC) == 0);
    REQUIRE(pipe2(from, O_CLOEXEC) == 0);
    engine = Lines(base::Descriptor(from[0]), base::Descriptor(to[1]), log);
    agent = Lines(base::Descriptor(to[0]), base::Descriptor(from[1]));
  }
  void print(std::string_view text) const { REQUIRE(write(from[1], text.data(), text.size()) == ssize_t(text.size())); }
};

std::string textOf(const std::vector<Object>& messages) {
  std::string text;
  for (const Object& one : messages) text += base::canonicalJson(Object(one));
  return text;
}

}  // namespace

TEST_CASE("messages go both ways, whole and in their order") {
  Conversation both;
  CHECK(both.engine.send(Object{{"start", "a\nb"}}));
  CHECK(both.engine.send(Object{{"kill", 1}}));
  CHECK(textOf(both.agent.receive()) == R"({"start":"a\nb"}{"kill":1})");
  CHECK(both.agent.receive().empty());
  both.print("@expc {\"sa");
  CHECK(both.engine.receive().empty());
  both.print("y\":\"x\"}\n");
  CHECK(textOf(both.engine.receive()) == R"({"say":"x"})");
}

TEST_CASE("what others print on the stream is no message and is kept") {
  const files::TemporaryFolder folder;
  Conversation both(folder.path() + "/log");
  both.print("Welcome\n{\"reports\":[]}\n0: ");
  CHECK(both.agent.send(Object{{"say", "x"}}));
  both.print("logout");
  CHECK(textOf(both.engine.receive()) == R"({"say":"x"})");
  both.agent.close();
  CHECK(both.engine.receive().empty());
  std::ifstream file(folder.path() + "/log");
  CHECK((std::stringstream() << file.rdbuf()).str() == "Welcome\n{\"reports\":[]}\n0: \nlogout\n");
}

TEST_CASE("a message that cannot be read is an error, and one that is cut is none") {
  Conversation both;
  both.print("@expc [1]\n@expc {\"a\n@expc {\"half\":");
  const auto messages = both.engine.receive();
  REQUIRE(messages.size() == 2);
  for (const Object& one : messages) CHECK(one.getString("error"));
  both.agent.close();
  CHECK(both.engine.receive().empty());
  CHECK(!both.engine.isOpen());
}

TEST_CASE("a line without an end ends the conversation") {
  Conversation both;
  both.print(std::string(3000, 'x'));
  CHECK(both.engine.receive(1000).empty());
  CHECK(!both.engine.isOpen());
}

TEST_CASE("one who writes without end is not heard without end, and ends the conversation") {
  Conversation both;
  for (int turn = 0; turn < 3; ++turn) {
    both.print(std::string(3000, '\n'));
    const auto messages = both.engine.receive(8000);
    CHECK(messages.size() == (turn < 2 ? 0 : 1));
    CHECK(both.engine.isOpen() == (turn < 2));
  }
}

TEST_CASE("the end of the other side is seen before all is received") {
  std::signal(SIGPIPE, SIG_IGN);
  Conversation both;
  CHECK(both.agent.hasPeer());
  both.engine.send(Object{{"kill", 1}});
  both.engine.finish();
  CHECK(!both.agent.hasPeer());
  CHECK(both.agent.isOpen());
  CHECK(both.agent.receive().size() == 1);
  CHECK(!both.agent.isOpen());
  CHECK(!both.engine.send(Object{{"kill", 1}}));

  Conversation gone;
  gone.engine.close();
  CHECK(!gone.agent.send(Object{{"say", "x"}}));
}

TEST_CASE("what a node says of itself arrives as it was") {
  Introduction node{"n1", "10.0.0.1", "eth0", {}};
  node.machine.allowed = {0, 2};
  node.machine.packages = {{{0}}, {{2}}};
  node.machine.nodes = {{1, {0, 2}}};
  machine::Gpu gpu;
  gpu.index = 1;
  gpu.cores = {0};
  gpu.ways = {{0, {.nvlinks = 4}}, {2, {.over = machine::Way::Over::System}}};
  node.machine.gpus = {gpu};
  auto read = base::readRecord<Introduction>(base::written(node), "a node");
  REQUIRE_MESSAGE(read, llvm::toString(read.takeError()));
  CHECK(base::written(*read) == base::written(node));
  CHECK(read->machine.gpus[0].memory_node == -1);
  CHECK(read->machine.gpus[0].ways == gpu.ways);
  CHECK(read->machine.packages[1].cores == std::vector<int>{2});
}

TEST_CASE("what is to be copied on a node arrives as it was, and whole") {
  const CopyTask task{{{"/from", "/to", "digest"}}};
  const auto back = llvm::cantFail(base::readRecord<CopyTask>(base::written(task), "copies"));
  REQUIRE(back.copies.size() == 1);
  CHECK(back.copies[0].to == task.copies[0].to);
  CHECK(back.copies[0].digest == task.copies[0].digest);
  auto bad = base::readRecord<CopyTask>(Object{{"copies", llvm::json::Array{Object{{"from", "/a"}}}}}, "copies");
  REQUIRE(!bad);
  llvm::consumeError(bad.takeError());
}
