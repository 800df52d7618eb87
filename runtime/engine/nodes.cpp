#include "runtime/engine/nodes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <set>

#include "runtime/base/process.h"
#include "runtime/engine/agent_messages.h"
#include "runtime/engine/clock.h"
#include "runtime/engine/log_tail.h"
#include "runtime/files/files.h"
#include "runtime/machine/wire.h"
#include "runtime/plan/json.h"

namespace expc::engine {
namespace {

using llvm::json::Object;
using llvm::json::Value;

// From the start of the command to the last agent, and for an answer of one.
constexpr double kPatience = 120;
// Of those of whom nothing is known yet: what they may send, and how many there may be.
constexpr size_t kLongestGreeting = 1 << 20, kMostCallers = 256;
constexpr double kEndSeconds = 10;  // that agents are given to end

/// A connection of which it is not yet known who it is.
struct Caller {
  LineSocket socket;
  std::string asked, proof;  // what it has to prove
  int order = 0;
  bool is_node = false;
  Node node;
};

/// Takes what a caller says in; false where it is none of ours.
bool take(Caller& caller, const std::string& secret, const std::string& line) {
  auto value = plan::parseJson(line);
  if (!value) {
    llvm::consumeError(value.takeError());
    return false;
  }
  const Object* said = value->getAsObject();
  if (!said) return false;
  if (caller.asked.empty()) {
    const auto hello = said->getString("hello");
    if (!hello || said->getInteger("v") != kAgentVersion) return false;
    caller.asked = randomWord();
    caller.proof = proofOf(secret, "agent", hello->str(), caller.asked);
    return caller.socket.send(
        Object{{"proof", proofOf(secret, "engine", hello->str(), caller.asked)}, {"asked", caller.asked}});
  }
  const Value* machine = said->get("machine");
  auto read = machine ? machine::machineFromWire(*machine) : std::nullopt;
  if (said->getString("proof").value_or("") != caller.proof || !read) return false;
  caller.node.machine = std::move(*read);
  caller.node.name = said->getString("name").value_or(caller.node.machine.host).str();
  caller.node.interface = said->getString("interface").value_or("").str();
  caller.order = static_cast<int>(said->getInteger("order").value_or(0));
  return caller.is_node = true;
}

/// The command line as sh reads it.
std::string withoutSpaces(const std::vector<std::string>& words, std::string& line) {
  for (const std::string& word : words) {
    if (word.find_first_of(" \t\n'\"\\$`;&|<>()*?[]#~") != std::string::npos) return word;
    line += (line.empty() ? "" : " ") + word;
  }
  return "";
}

bool hasEnded(pid_t& command) {
  if (command > 0 && waitpid(command, nullptr, WNOHANG) == command) command = -1;
  return command < 0;
}

}  // namespace

Nodes::Nodes(std::string folder) : folder_(std::move(folder)), boot_id_(base::bootId()), secret_(randomWord()) {}

Nodes::~Nodes() {
  for (Node& node : nodes_) node.socket.close();
  if (!meeting_place_.empty()) unlink(meeting_place_.c_str());
  for (const auto& [sign, seconds] : {std::pair(0, kEndSeconds), std::pair(SIGTERM, kEndSeconds)}) {
    if (sign != 0 && !hasEnded(command_)) kill(-command_, sign);
    const double end = Clock::real().boot() + seconds;
    while (!hasEnded(command_) && Clock::real().boot() < end) usleep(10000);
  }
  if (hasEnded(command_)) return;
  kill(-command_, SIGKILL);
  waitpid(command_, nullptr, 0);
}

llvm::Expected<std::unique_ptr<Nodes>> Nodes::start(const NodesAsked& asked, const std::string& results,
                                                    const Interrupts& interrupts) {
  std::unique_ptr<Nodes> nodes(new Nodes(results + "/nodes"));
  auto listener = Listener::open();
  if (!listener) return listener.takeError();
  if (auto error = nodes->launch(asked, *listener)) return error;
  if (auto error = nodes->meet(asked, *listener, interrupts)) return error;
  nodes->settle();
  return nodes;
}

llvm::Error Nodes::launch(const NodesAsked& asked, const Listener& listener) {
  std::error_code ignored;  // writing the file says what is wrong
  std::filesystem::create_directories(folder_, ignored);
  meeting_place_ = fmt::format("{}/{}.{}.json", folder_, boot_id_.substr(0, 8), getpid());
  if (auto error = writeMeetingPlace(meeting_place_, {listener.addresses(), secret_})) return error;
  std::string agent;
  if (const std::string word = withoutSpaces({asked.program, "agent", meeting_place_}, agent); !word.empty())
    return llvm::createStringError(
        fmt::format("'{}' has a character that shells read otherwise: agents cannot be started by it", word));
  setenv("EXPC_AGENT", agent.c_str(), 1);
  command_ = fork();
  if (command_ < 0) return llvm::createStringError("no process can be made to start the agents");
  if (command_ > 0) return llvm::Error::success();
  // A terminal's Ctrl-C is for the engine, which ends the agents once it has heard of their trials.
  setsid();
  const int log = files::openLog(folder_ + "/agents.log");
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(log < 0 ? nothing : log, STDOUT_FILENO);
  dup2(log < 0 ? nothing : log, STDERR_FILENO);
  execl("/bin/sh", "sh", "-c", asked.line.c_str(), nullptr);
  _exit(127);
}

llvm::Error Nodes::tooFew(const NodesAsked& asked, const std::string& why) const {
  std::string told = logTail(folder_ + "/agents.log");
  return llvm::createStringError(fmt::format("{} of {} nodes have an agent, and {}; see {}/agents.log{}{}",
                                             nodes_.size(), asked.count, why, folder_, told.empty() ? "" : ":\n",
                                             told));
}

llvm::Error Nodes::meet(const NodesAsked& asked, Listener& listener, const Interrupts& interrupts) {
  const double end = Clock::real().boot() + kPatience;
  std::list<Caller> callers;
  std::vector<std::pair<int, Node>> met;
  while (met.size() < asked.count) {
    if (interrupts.requested()) return llvm::createStringError("interrupted while the agents were started");
    if (Clock::real().boot() > end) return tooFew(asked, fmt::format("no more came in {:.0f} s", kPatience));
    const bool over = hasEnded(command_);
    std::vector<pollfd> fds{{listener.fd(), POLLIN, 0}, {interrupts.fd(), POLLIN, 0}};
    for (const Caller& caller : callers) fds.push_back({caller.socket.fd(), POLLIN, 0});
    const int ready = poll(fds.data(), fds.size(), 100);
    // Its agents may have called before it ended; nobody calls after it.
    if (over && ready == 0) return tooFew(asked, "the command that starts them has ended");
    for (LineSocket socket = listener.accept(); socket.isOpen(); socket = listener.accept()) {
      callers.emplace_back().socket = std::move(socket);
      if (callers.size() <= kMostCallers) continue;
      // Agents speak at once.
      const auto silent =
          std::find_if(callers.begin(), callers.end(), [](const Caller& one) { return one.asked.empty(); });
      callers.erase(silent == callers.end() ? callers.begin() : silent);
      break;
    }
    for (auto at = callers.begin(); at != callers.end();) {
      for (const std::string& line : at->socket.receive(kLongestGreeting)) {
        if (!at->is_node && take(*at, secret_, line)) continue;
        at->socket.close();
        break;
      }
      if (at->socket.isOpen() && !at->is_node) {
        ++at;
        continue;
      }
      if (at->is_node) {
        at->node.address = at->socket.peer();
        at->node.socket = std::move(at->socket);
        met.emplace_back(at->order, std::move(at->node));
      }
      at = callers.erase(at);
    }
  }
  std::stable_sort(met.begin(), met.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [order, node] : met) nodes_.push_back(std::move(node));
  return llvm::Error::success();
}

/// Two agents on one host are two nodes.
void Nodes::settle() {
  std::set<std::string> names;
  for (Node& node : nodes_) {
    const std::string name = node.name;
    for (unsigned number = 2; !names.insert(node.name).second; ++number) node.name = fmt::format("{}#{}", name, number);
  }
}

llvm::Expected<std::vector<Value>> Nodes::ask(const std::vector<Object>& questions, llvm::StringRef key,
                                              const Interrupts& interrupts, std::vector<std::string>& notes) {
  std::vector<Value> answers;
  for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i].socket.send(questions[i]);
  const double end = Clock::real().boot() + kPatience;
  for (Node& node : nodes_) {
    const size_t had = answers.size();
    while (answers.size() == had) {
      if (interrupts.requested()) return llvm::createStringError("interrupted while the nodes were asked");
      pollfd fds[] = {{node.socket.fd(), POLLIN, 0}, {interrupts.fd(), POLLIN, 0}};
      if (node.socket.isOpen()) poll(fds, 2, 1000);
      for (const std::string& line : node.socket.receive()) {
        auto value = plan::parseJson(line);
        if (!value) return value.takeError();
        const Object* said = value->getAsObject();
        if (const auto error = said ? said->getString("error") : std::nullopt)
          return llvm::createStringError(fmt::format("node {}: {}", node.name, error->str()));
        if (const auto note = said ? said->getString("say") : std::nullopt)
          notes.push_back(fmt::format("node {}: {}", node.name, note->str()));
        if (const Value* answer = said ? said->get(key) : nullptr; answer && answers.size() == had)
          answers.push_back(*answer);
      }
      if (answers.size() == had && (!node.socket.isOpen() || Clock::real().boot() > end))
        return llvm::createStringError(
            fmt::format("node {} was lost before the first trial; see {}/agents.log", node.name, folder_));
    }
  }
  return answers;
}

}  // namespace expc::engine
