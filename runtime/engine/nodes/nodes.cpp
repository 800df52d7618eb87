// Nodes: starting agents, asking them, and NodeLauncher, the engine's end of trials on them.
//
// NodeLauncher sends each node its part of a trial and merges their reports. Two things need care. Times of a node are
// moved to the engine's clock (Node::ahead). And a trial that is lost on one node ends only once nothing of it runs on
// the others, since its devices are busy until then.

#include "runtime/engine/nodes/nodes.h"

#include <fcntl.h>
#include <llvm/ADT/STLExtras.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/launch/interrupts.h"

namespace expc::engine::nodes {
namespace {

using json::Object;
using json::Value;
using launch::Clock;
using launch::RankReport;

constexpr double kStartSeconds = 120;  // for agents to start: srun may wait for a prolog
constexpr double kEndSeconds = 10;     // for agents to end, before each stronger signal
// Upper bound on the relative drift of two machines' clocks; quartz is within 100 ppm.
constexpr double kDrift = 1e-4;

/// The key of the introduction that agents begin with.
constexpr llvm::StringLiteral kHere = "here";

/// Whether the command that started the agent has ended; reaps it.
bool hasEnded(Node& node) {
  node.lines.receive();  // an agent whose pipe is full cannot end
  if (node.command > 0 && waitpid(node.command, nullptr, WNOHANG) == node.command) node.command = -1;
  return node.command < 0;
}

/// The error of a node without an agent, with the end of its log.
Error missing(const Node& node, const std::string& why) {
  // srun and ssh say on their standard error why an agent did not start, which goes to the log.
  const std::string said = files::lastWords(node.log);
  return failure("node {}: {}; see {}{}{}", node.name, why, node.log, said.empty() ? "" : ":\n", said);
}

/// The launcher of trials on nodes. Numbers of trials are the engine's; agents translate them.
class NodeLauncher final : public Launcher {
 public:
  NodeLauncher(Nodes& nodes, unsigned lanes, launch::Say say, const Clock& clock)
      : nodes_(nodes), lanes_(lanes), say_(std::move(say)), clock_(clock) {}

  launch::LauncherDescription describe() const override { return {"nodes", lanes_}; }
  std::string lost(unsigned node) const override { return nodes_.all()[node].lost; }

  Expected<uint64_t> start(const TrialRequest& request) override {
    const uint64_t id = next_trial_++;
    Trial& trial = trials_[id];
    trial.ranks = request.spec.world_size;
    // Consecutive ranks go to one node, in the order of the nodes.
    const unsigned each = trial.ranks / request.nodes.size();
    TrialRequest part = request;
    // Each node gets the whole specification with the numbers of its own ranks.
    part.ranks = each;
    for (const unsigned node : request.nodes) {
      trial.left[node] = each;
      Node& own = nodes_.all()[node];
      if (own.lost.empty() && !own.lines.send(Object{{"start", base::written(part)}, {"trial", id}})) lose(own, "");
      // A lost node is no error of start(): the trial is reported as lost, like one that was under way.
      if (!own.lost.empty()) end(id, trial, lostWith(own.lost));
      part.first_rank += each;
    }
    return id;
  }

  Expected<std::vector<RankReport>> events(double until, int wake) override {
    std::vector<pollfd> fds{{wake, POLLIN, 0}};
    for (const Node& node : nodes_.all()) fds.push_back({node.lines.fd(), POLLIN, 0});
    const double left = std::clamp(until - clock_.boot(), 0.0, launch::kLongestWait);
    poll(fds.data(), fds.size(), int(left * 1000) + 1);
    for (unsigned node = 0; node < nodes_.all().size(); ++node) read(node);
    reportLost();
    return std::exchange(reports_, {});
  }

  void kill(uint64_t id) override { order("kill", id); }
  void stop(uint64_t id) override { order("stop", id); }

 private:
  struct Trial {
    unsigned ranks = 0, exited = 0;
    std::map<unsigned, unsigned> left;  // node -> its ranks that have not exited
    std::optional<RankReport> end;      // set if it is lost: the report for when nothing of it runs
  };

  /// Sends an order about a trial to each node that runs a part of it.
  void order(StringRef what, uint64_t id) {
    const Trial* trial = entryOf(trials_, id);
    if (!trial) return;
    for (const auto& [node, left] : trial->left)
      if (Node& own = nodes_.all()[node]; own.lost.empty()) own.lines.send(Object{{what, id}});
  }

  static RankReport lostWith(const std::string& why) {
    return {.what = RankReport::Lost, .text = why, .with_node = true};
  }

  /// Marks the trial as lost, for the first reason, and kills what is left of it.
  void end(uint64_t id, Trial& trial, RankReport report) {
    if (!trial.end) trial.end = std::move(report);
    kill(id);
  }

  /// Handles all messages of a node.
  void read(unsigned node) {
    Node& own = nodes_.all()[node];
    if (!own.lost.empty()) return;
    for (const Object& said : own.hear(say_))
      if (own.lost.empty()) take(node, said);
    if (!own.lines.isOpen()) lose(own, "");
  }

  /// Handles one message: reports, or the agent's last error. A message that makes no sense loses the node.
  void take(unsigned node, const Object& said) {
    Node& own = nodes_.all()[node];
    if (const auto error = said.getString("error")) return lose(own, error->str());
    const json::Array* all = said.getArray("reports");
    const auto told = said.getNumber("now");
    if (!all || !told) return lose(own, "its agent sent an unknown message: agent and engine must be of one build");
    // A message arrives late, so `ahead` is too small by its delay. The quickest message estimates the offset of the
    // clocks best: keep the largest value, and let it decay by the possible drift.
    const double now = clock_.boot(), ahead = *told - now;
    own.ahead = own.has_told ? std::max(own.ahead - kDrift * launch::kLongestWait, ahead) : ahead;
    own.has_told = true;
    for (const Value& one : *all) {
      auto report = base::readRecord<RankReport>(one, "a report");
      if (!report) return lose(own, toString(report.takeError()));
      // No event can be later than now, whatever the error of the offset.
      report->at = std::min(report->at - own.ahead, now);
      const auto found = trials_.find(report->trial);
      if (found == trials_.end()) continue;
      Trial& trial = found->second;
      if (report->what == RankReport::Lost) {
        trial.left[node] = 0;  // nothing of it is left on this node, which lives on
        end(found->first, trial, std::move(*report));
        continue;
      }
      const bool exited = report->what == RankReport::Exited;
      reports_.push_back(std::move(*report));
      if (!exited) continue;
      if (trial.left[node] > 0) --trial.left[node];
      if (++trial.exited == trial.ranks) trials_.erase(found);
    }
  }

  /// Marks a node as lost, and each trial with a part on it.
  void lose(Node& own, const std::string& why) {
    own.lines.close();
    if (!own.lost.empty()) return;
    own.lost = fmt::format("lost node {}: {}", own.name, why.empty() ? "the connection to it has ended" : why);
    for (auto& [id, trial] : trials_)
      if (trial.left.count(&own - nodes_.all().data())) end(id, trial, lostWith(own.lost));
  }

  /// Reports lost trials of which nothing runs any more on the nodes that are there.
  void reportLost() {
    for (auto next = trials_.begin(); next != trials_.end();) {
      const auto at = next++;
      auto& [id, trial] = *at;
      const bool runs = std::ranges::any_of(
          trial.left, [&](const auto& part) { return part.second > 0 && nodes_.all()[part.first].lost.empty(); });
      if (!trial.end || runs) continue;
      trial.end->trial = id;
      trial.end->at = clock_.boot();
      reports_.push_back(std::move(*trial.end));
      trials_.erase(at);
    }
  }

  Nodes& nodes_;
  const unsigned lanes_;
  const launch::Say say_;
  const Clock& clock_;
  std::map<uint64_t, Trial> trials_;
  uint64_t next_trial_ = 1;
  std::vector<RankReport> reports_;  // not handed out yet
};

}  // namespace

std::vector<Object> Node::hear(const launch::Say& say) {
  std::vector<Object> rest;
  for (Object& said : lines.receive())
    if (const auto text = said.getString("say"))
      say(fmt::format("node {}: {}", name, text->str()));
    else
      rest.push_back(std::move(said));
  return rest;
}

Nodes::~Nodes() {
  // Agents end when their input does. Those that do not are signalled, SIGTERM first, with kEndSeconds in between.
  for (Node& node : nodes_) node.lines.finish();
  for (const int sign : {0, SIGTERM, SIGKILL}) {
    for (Node& node : nodes_)
      if (sign != 0 && !hasEnded(node)) kill(-node.command, sign);
    const double end = Clock::real().boot() + kEndSeconds;
    while (llvm::count_if(nodes_, hasEnded) < std::ssize(nodes_) && Clock::real().boot() < end) usleep(10000);
  }
}

Expected<std::unique_ptr<Nodes>> Nodes::start(const NodesAsked& asked, const std::string& results) {
  // The agent's command line passes through shells, here and on the node, so quoting cannot be relied on.
  if (asked.program.find_first_of(" \t\n'\"\\$`;&|<>()*?[]#~") != std::string::npos)
    return failure("'{}' has a character that is special to shells, so agents cannot be started from there",
                   asked.program);
  // In the environment rather than replaced in the line, so that the user's line needs no escaping rules of ours.
  setenv("EXPC_AGENT", (asked.program + " agent").c_str(), 1);
  const std::string folder = results + "/nodes";
  std::error_code ignored;  // opening a file says what is wrong
  std::filesystem::create_directories(folder, ignored);
  std::unique_ptr<Nodes> nodes(new Nodes);
  for (const NodesAsked::One& one : asked.all) TRY(nodes->launch(one, folder));
  TRY(nodes->meet());
  return nodes;
}

Error Nodes::launch(const NodesAsked::One& asked, const std::string& folder) {
  Node& node = nodes_.emplace_back();
  node.name = asked.name;
  node.log = fmt::format("{}/{}.log", folder, asked.name);
  setenv("EXPC_NODE", fmt::to_string(nodes_.size()).c_str(), 1);
  const Descriptor log(files::openLog(node.log));
  if (log < 0) return files::systemError(node.log, errno);
  base::Pipe to, from;
  if (to.read < 0 || from.read < 0) return files::systemError("a pipe for an agent", errno);
  node.command = fork();
  if (node.command == 0) {
    // An own session keeps a terminal's Ctrl-C from srun and ssh: the engine ends the agents once it has heard of their
    // trials.
    setsid();
    signal(SIGPIPE, SIG_DFL);  // so that srun ends an agent that nobody reads
    dup2(to.read, STDIN_FILENO);
    dup2(from.write, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", asked.line.c_str(), nullptr);
    _exit(127);
  }
  node.lines = Lines(std::move(from.read), std::move(to.write), node.log);
  return node.command < 0 ? files::systemError("a process for an agent", errno) : Error::success();
}

Error Nodes::meet() {
  auto met = TRY(ask(
      kHere, [](const Node&) { return Object(); }, [](const std::string&) {}, [] { return Error::success(); },
      Clock::real().boot() + kStartSeconds));
  std::set<std::string> names;
  for (const auto& [node, said] : llvm::zip(nodes_, met)) {
    TRY(base::readRecord<Introduction>(said, fmt::format("what node {} is", node.name))
            .moveInto(static_cast<Introduction&>(node)));
    // Two agents on one host are two nodes, so the second is called NAME#2.
    const std::string name = node.name;
    for (unsigned number = 2; !names.insert(node.name).second; ++number) node.name = fmt::format("{}#{}", name, number);
  }
  return Error::success();
}

Expected<std::vector<Value>> Nodes::ask(StringRef key, function_ref<Object(const Node&)> question,
                                        const launch::Say& say, const inputs::Tick& tick, double until) {
  for (Node& node : nodes_)
    if (Object asked = question(node); !asked.empty()) node.lines.send(asked);
  std::vector<Value> answers(nodes_.size(), nullptr);
  // Null stands for an answer that has not come.
  const auto is_missing = [](const Value& answer) { return answer.kind() == Value::Null; };
  while (llvm::any_of(answers, is_missing)) {
    if (Interrupts::requested()) return failure("interrupted while waiting for the nodes");
    TRY(tick());
    std::vector<pollfd> fds{{Interrupts::fd(), POLLIN, 0}};
    for (const auto& [node, answer] : llvm::zip(nodes_, answers))
      if (is_missing(answer)) fds.push_back({node.lines.fd(), POLLIN, 0});
    // A second at most, so that `tick` is called often enough.
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
        return missing(node, fmt::format("its agent did not connect within {:.0f} s", kStartSeconds));
    }
  }
  return answers;
}

std::unique_ptr<Launcher> launcherOn(Nodes& nodes, unsigned lanes, launch::Say say, const Clock& clock) {
  return std::make_unique<NodeLauncher>(nodes, lanes, std::move(say), clock);
}

}  // namespace expc::engine::nodes
