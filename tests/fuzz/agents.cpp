#include "tests/fuzz/agents.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "runtime/engine/agent_messages.h"
#include "runtime/engine/interrupts.h"
#include "runtime/engine/line_socket.h"
#include "runtime/engine/nodes.h"
#include "runtime/machine/wire.h"
#include "runtime/plan/json.h"
#include "tests/fuzz/folder.h"
#include "tests/fuzz/twice.h"

namespace expc::fuzz {
namespace {

namespace fs = std::filesystem;
using engine::LineSocket;
using llvm::json::Object;

constexpr const char *kProof = "PROOF", *kTrueAgent = "the one that knows the secret";
constexpr int kMostCallers = 16, kPatienceMs = 2000;

/// Those who call at the port of an engine.
class World {
 public:
  explicit World(std::string folder) : folder_(std::move(folder)) {}

  void call(llvm::StringRef bytes) {
    const std::optional<engine::MeetingPlace> place = meetingPlace();
    if (!place) return;
    std::vector<LineSocket> silent;  // stay on the line
    for (int count = 0; count < kMostCallers && !bytes.empty(); ++count) {
      auto [words, rest] = bytes.split("\n\n");
      bytes = rest;
      if (auto socket = LineSocket::connect(place->addresses); worked(socket)) {
        say(*socket, words.str() + "\n", place->secret);
        silent.push_back(std::move(*socket));
      }
    }
    auto last = LineSocket::connect(place->addresses);
    // An engine that has met its node, one that said PROOF, listens no more.
    if (!worked(last)) return;
    const std::string machine = plan::canonicalJson(llvm::json::Value(machine::toWire(machine::probe())));
    say(*last,
        fmt::format("{{\"v\":{},\"hello\":\"7\"}}\n{{\"proof\":\"{}\",\"name\":\"{}\",\"machine\":{}}}\n",
                    engine::kAgentVersion, kProof, kTrueAgent, machine),
        place->secret);
    while (!over_) std::this_thread::yield();
  }
  void end() { over_ = true; }

 private:
  /// Of the engine that writes it now.
  std::optional<engine::MeetingPlace> meetingPlace() const {
    std::error_code none;
    while (!over_) {
      for (const auto& entry : fs::directory_iterator(folder_ + "/nodes", none)) {
        if (entry.path().extension() != ".json") continue;
        auto place = engine::readMeetingPlace(entry.path().string());
        if (place) return std::move(*place);
        llvm::consumeError(place.takeError());
      }
      std::this_thread::yield();
    }
    return std::nullopt;
  }

  static void send(const LineSocket& socket, llvm::StringRef text) {
    (void)::send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL);
  }

  /// The proof of who knows the secret needs what the engine asks once it has been greeted.
  static void say(LineSocket& socket, std::string words, const std::string& secret) {
    const size_t proof = words.find(kProof);
    if (proof == std::string::npos) return send(socket, words);
    const auto [greeting, rest] = llvm::StringRef(words).split('\n');
    send(socket, greeting.str() + "\n");
    pollfd wait{socket.fd(), POLLIN, 0};
    poll(&wait, 1, kPatienceMs);
    for (const std::string& line : socket.receive()) {
      auto answer = plan::parseJson(line);
      auto greeted = plan::parseJson(greeting);
      hold(worked(answer) && worked(greeted), "an engine answers in JSON who speaks JSON");
      const std::string hello = greeted->getAsObject()->getString("hello").value_or("").str();
      const std::string asked = answer->getAsObject()->getString("asked").value_or("").str();
      hold(answer->getAsObject()->getString("proof") == engine::proofOf(secret, "engine", hello, asked),
           "an engine proves who it is");
      std::string more = rest.str();
      for (size_t at; (at = more.find(kProof)) != std::string::npos;)
        more.replace(at, std::string_view(kProof).size(), engine::proofOf(secret, "agent", hello, asked));
      return send(socket, more);
    }
  }

  const std::string folder_;
  std::atomic<bool> over_ = false;
};

}  // namespace

void greet(const std::string& bytes) {
  const std::string folder = emptyFolder();
  int lasts[2];  // what would start agents ends with this pipe
  hold(pipe2(lasts, O_CLOEXEC) == 0 && fcntl(lasts[0], F_SETFD, 0) == 0, "a pipe can be made");
  World world(folder);
  std::thread calls([&] { world.call(bytes); });
  {
    const engine::Interrupts interrupts;
    auto nodes = engine::Nodes::start({1, fmt::format("exec cat /dev/fd/{}", lasts[0]), "expc"}, folder, interrupts);
    hold(worked(nodes), "an agent that knows the secret is let in");
    hold((*nodes)->all().size() == 1, "and nobody besides");
    hold((*nodes)->all()[0].name == kTrueAgent || bytes.find(kProof) != std::string::npos, "nobody else is let in");
    world.end();
    close(lasts[1]);
  }
  close(lasts[0]);
  calls.join();
}

void readAgentWords(const std::string& bytes) {
  for (llvm::StringRef line : llvm::split(bytes, '\n')) {
    auto value = plan::parseJson(line);
    if (!worked(value)) continue;
    readTwice(*value, engine::agentTaskFromJson);
    readTwice(*value, engine::trialRequestFromJson);
    readTwice(*value, engine::rankReportFromJson);
    if (const auto machine = machine::machineFromWire(*value)) {
      const std::string written = plan::canonicalJson(machine::toWire(*machine));
      auto parsed = plan::parseJson(written);
      hold(worked(parsed), "what is written is JSON");
      const auto again = machine::machineFromWire(*parsed);
      hold(again && plan::canonicalJson(machine::toWire(*again)) == written, "what is written is read and the same");
    }
  }
}

}  // namespace expc::fuzz
