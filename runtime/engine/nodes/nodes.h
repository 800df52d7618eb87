#pragma once

// The nodes that a run has besides, or in the place of, the machine of its engine: on each an agent (agent.h), whose
// standard streams come here through what starts it.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/nodes/agent.h"

namespace expc::engine::nodes {

/// Which nodes a run is to have.
struct NodesAsked {
  struct One {
    std::string name;  // until it has said its own
    /// A line of sh that starts an agent there, hands on its standard streams, and goes on as long as it does. Where it
    /// says $EXPC_AGENT stands the agent's command line; $EXPC_NODE is the number of the node, from 1 on.
    std::string line;
  };
  std::vector<One> all;
  std::string program;  // expc, as the nodes find it
};

struct Node : Introduction {  // no two have the same name
  std::string log;            // what is said there besides
  pid_t command = -1;         // what has started its agent; -1: it has ended
  Lines lines;
  std::string lost;       // why it is not there any more; "": it is
  double ahead = 0;       // seconds of its boot time before the engine's
  bool has_told = false;  // `ahead` is known

  /// What it has said meanwhile, but for what is for people, which `say` gets.
  std::vector<llvm::json::Object> hear(const launch::Say& say);
};

/// All of them, from their start to their end: with this object the agents end, and what they run.
class Nodes {
 public:
  /// Starts the agents and waits until all are there. What is said at their start, or by them to nobody, is in the
  /// folder `nodes` of `results`. The error names the first that is missing, with the end of that; an interrupt is an
  /// error, too.
  static llvm::Expected<std::unique_ptr<Nodes>> start(const NodesAsked& asked, const std::string& results);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  std::vector<Node>& all() { return nodes_; }
  const std::vector<Node>& all() const { return nodes_; }
  /// Asks every node, and waits for what each answers under `key`, until the boot time `until` and while `tick` has no
  /// error. The error names the node that says no or is gone, or is that of `tick`; an interrupt is one, too.
  llvm::Expected<std::vector<llvm::json::Value>> ask(
      llvm::StringRef key, llvm::function_ref<llvm::json::Object(const Node&)> question, const launch::Say& say,
      const inputs::Tick& tick = [] { return llvm::Error::success(); },
      double until = std::numeric_limits<double>::infinity());

 private:
  Nodes() = default;
  llvm::Error launch(const NodesAsked::One& asked, const std::string& folder);
  llvm::Error meet();

  std::vector<Node> nodes_;
};

/// Runs trials on nodes whose agents have begun, which must outlive it. `lanes`: of all of them together.
std::unique_ptr<launch::Launcher> launcherOn(Nodes& nodes, unsigned lanes, launch::Say say, const launch::Clock& clock);

}  // namespace expc::engine::nodes
