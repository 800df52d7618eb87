#pragma once

// The nodes of a run: starts an agent (agent.h) on each, asks them questions, and runs trials through them. The
// engine's own machine is a node only if an agent runs there, too. Standard streams of agents come here through the
// command that starts them, such as srun or ssh.

#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/nodes/agent.h"

namespace expc::engine::nodes {

/// The nodes that the user asked for.
struct NodesAsked {
  struct One {
    std::string name;  // for messages, until its agent has said its own
    /// A command line for sh that starts an agent on the node, passes its standard streams on, and runs as long as it
    /// does. $EXPC_AGENT stands for the agent's command line, $EXPC_NODE for the number of the node, counted from 1.
    std::string line;
  };
  std::vector<One> all;
  std::string program;  // path of expc on the nodes
};

/// A node with a running agent, or one that was lost.
struct Node : Introduction {  // no two have the same name
  std::string log;            // file for everything that is said there except messages
  pid_t command = -1;         // process that started its agent; -1: it has ended
  Lines lines;
  std::string lost;       // why it is lost; "": it is there
  double ahead = 0;       // its boot clock minus the engine's, in seconds
  bool has_told = false;  // whether `ahead` is known

  /// The messages that have come, without those for the user, which go to `say`.
  std::vector<json::Object> hear(const launch::Say& say);
};

/// The nodes of a run. Its destruction ends the agents and all that they run.
class Nodes {
 public:
  /// Starts the agents and waits until all have introduced themselves, two minutes at most. Their output goes to the
  /// folder `results`/nodes. The error names the first node that is missing, with the end of its log. An interrupt is
  /// an error, too.
  static Expected<std::unique_ptr<Nodes>> start(const NodesAsked& asked, const std::string& results);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  std::vector<Node>& all() { return nodes_; }
  const std::vector<Node>& all() const { return nodes_; }
  /// Sends each node its question (an empty one is not sent) and waits for the answers under `key`, in the order of the
  /// nodes. Gives up at the boot time `until`, when `tick` fails, or on an interrupt. The error names the node that
  /// refused or is gone, or is that of `tick`.
  Expected<std::vector<json::Value>> ask(
      StringRef key, function_ref<json::Object(const Node&)> question, const launch::Say& say,
      const inputs::Tick& tick = [] { return Error::success(); }, double until = INFINITY);

 private:
  Nodes() = default;
  Error launch(const NodesAsked::One& asked, const std::string& folder);
  Error meet();

  std::vector<Node> nodes_;
};

/// Makes a launcher that runs trials on `nodes`, whose agents must have begun. `nodes` and `clock` must outlive it.
/// `lanes`: of all nodes together.
std::unique_ptr<Launcher> launcherOn(Nodes& nodes, unsigned lanes, launch::Say say, const launch::Clock& clock);

}  // namespace expc::engine::nodes
