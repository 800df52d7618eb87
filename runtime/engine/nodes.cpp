#include "runtime/engine/nodes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>

#include "runtime/base/failure.h"
#include "runtime/engine/clock.h"
#include "runtime/engine/log_tail.h"
#include "runtime/files/files.h"

namespace expc::engine {
namespace {

using base::failure;
using llvm::json::Object;
using llvm::json::Value;

constexpr double kStartSeconds = 120;  // that agents are given to come
constexpr double kEndSeconds = 10;     // and to end

/// The answers that agents begin with.
constexpr llvm::StringLiteral kHere = "here";

bool hasEnded(Node& node) {
  node.lines.receive();  // one that waits until it is heard cannot end
  if (node.command > 0 && waitpid(node.command, nullptr, WNOHANG) == node.command) node.command = -1;
  return node.command < 0;
}

llvm::Error missing(const Node& node, const std::string& why) {
  const std::string said = logTail(node.log);
  return failure("node {}: {}; see {}{}{}", node.name, why, node.log, said.empty() ? "" : ":\n", said);
}

}  // namespace

std::vector<Object> Node::hear(const Say& say) {
  std::vector<Object> rest;
  for (Object& said : lines.receive())
    if (const auto text = said.getString("say"))
      say(fmt::format("node {}: {}", name, text->str()));
    else
      rest.push_back(std::move(said));
  return rest;
}

Nodes::~Nodes() {
  for (Node& node : nodes_) node.lines.finish();
  for (const int sign : {0, SIGTERM, SIGKILL}) {
    for (Node& node : nodes_)
      if (sign != 0 && !hasEnded(node)) kill(-node.command, sign);
    const double end = Clock::real().boot() + kEndSeconds;
    while (llvm::count_if(nodes_, hasEnded) < std::ssize(nodes_) && Clock::real().boot() < end) usleep(10000);
  }
}

llvm::Expected<std::unique_ptr<Nodes>> Nodes::start(const NodesAsked& asked, const std::string& results,
                                                    const Interrupts& interrupts) {
  if (asked.program.find_first_of(" \t\n'\"\\$`;&|<>()*?[]#~") != std::string::npos)
    return failure("'{}' has a character that shells read otherwise: agents cannot be started by it", asked.program);
  setenv("EXPC_AGENT", (asked.program + " agent").c_str(), 1);
  const std::string folder = results + "/nodes";
  std::error_code ignored;  // opening a file says what is wrong
  std::filesystem::create_directories(folder, ignored);
  std::unique_ptr<Nodes> nodes(new Nodes(interrupts));
  for (const NodesAsked::One& one : asked.all)
    if (auto error = nodes->launch(one, folder)) return error;
  if (auto error = nodes->meet()) return error;
  return nodes;
}

llvm::Error Nodes::launch(const NodesAsked::One& asked, const std::string& folder) {
  Node& node = nodes_.emplace_back();
  node.name = asked.name;
  node.log = fmt::format("{}/{}.log", folder, asked.name);
  setenv("EXPC_NODE", fmt::to_string(nodes_.size()).c_str(), 1);
  const base::Descriptor log(files::openLog(node.log));
  if (log < 0) return files::systemError(node.log, errno);
  base::Pipe to, from;
  if (to.read < 0 || from.read < 0) return files::systemError("a pipe for an agent", errno);
  node.command = fork();
  if (node.command == 0) {
    // A terminal's Ctrl-C is for the engine, which ends the agents once it has heard of their trials.
    setsid();
    signal(SIGPIPE, SIG_DFL);  // srun ends an agent that nobody hears
    dup2(to.read, STDIN_FILENO);
    dup2(from.write, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", asked.line.c_str(), nullptr);
    _exit(127);
  }
  node.lines = Lines(std::move(from.read), std::move(to.write), node.log);
  return node.command < 0 ? files::systemError("a process for an agent", errno) : llvm::Error::success();
}

llvm::Error Nodes::meet() {
  auto met = ask(
      kHere, [](const Node&) { return Object(); }, [](const std::string&) {}, [] { return llvm::Error::success(); },
      Clock::real().boot() + kStartSeconds);
  if (!met) return met.takeError();
  std::set<std::string> names;
  for (const auto& [node, said] : llvm::zip(nodes_, *met)) {
    auto here = plan::readRecord<Introduction>(said, fmt::format("what node {} is", node.name));
    if (!here) return here.takeError();
    static_cast<Introduction&>(node) = std::move(*here);
    // Two agents on one host are two nodes.
    const std::string name = node.name;
    for (unsigned number = 2; !names.insert(node.name).second; ++number) node.name = fmt::format("{}#{}", name, number);
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<Value>> Nodes::ask(llvm::StringRef key, llvm::function_ref<Object(const Node&)> question,
                                              const Say& say, const Tick& tick, double until) {
  for (Node& node : nodes_)
    if (Object asked = question(node); !asked.empty()) node.lines.send(asked);
  std::vector<Value> answers(nodes_.size(), nullptr);
  const auto is_missing = [](const Value& answer) { return answer.kind() == Value::Null; };
  while (llvm::any_of(answers, is_missing)) {
    if (interrupts_.requested()) return failure("interrupted while the nodes were asked");
    if (auto error = tick()) return error;
    std::vector<pollfd> fds{{interrupts_.fd(), POLLIN, 0}};
    for (const auto& [node, answer] : llvm::zip(nodes_, answers))
      if (is_missing(answer)) fds.push_back({node.lines.fd(), POLLIN, 0});
    poll(fds.data(), fds.size(), 1000);
    for (auto&& [node, answer] : llvm::zip(nodes_, answers)) {
      if (!is_missing(answer)) continue;
      for (const Object& said : node.hear(say)) {
        if (const auto error = said.getString("error")) return failure("node {}: {}", node.name, error->str());
        if (const Value* found = said.get(key)) answer = *found;
      }
      if (!is_missing(answer)) continue;
      if (!node.lines.isOpen()) return missing(node, "what started its agent has ended");
      if (Clock::real().boot() > until)
        return missing(node, fmt::format("no agent has come in {:.0f} s", kStartSeconds));
    }
  }
  return answers;
}

}  // namespace expc::engine
