#pragma once

// The nodes that a run has besides, or in the place of, the machine of its engine: on each an agent (agent.h), all of
// them started by one command line.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/engine/interrupts.h"
#include "runtime/engine/line_socket.h"
#include "runtime/machine/machine.h"

namespace expc::engine {

/// Which nodes a run is to have.
struct NodesAsked {
  unsigned count = 1;
  /// A line of sh that starts an agent on each: where it says $EXPC_AGENT stands the agent's command line. It goes on
  /// as long as they do.
  std::string line;
  std::string program;  // expc, as the nodes find it
};

struct Node {
  std::string name;       // no two have the same
  std::string address;    // as the engine sees it, a number
  std::string interface;  // by which it reaches the engine; "": not known
  machine::Machine machine;
  LineSocket socket;
  std::string lost;       // why it is not there any more; "": it is
  double ahead = 0;       // seconds of its boot time before the engine's
  bool has_told = false;  // `ahead` is known
};

/// All of them, from their start to their end: with this object the agents end, and what they run.
class Nodes {
 public:
  /// Starts the agents and waits until all are there. Their output and the file by which they find this engine are in
  /// the folder `nodes` of `results`. The error says how many came, with the end of that output; an interrupt is an
  /// error, too.
  static llvm::Expected<std::unique_ptr<Nodes>> start(const NodesAsked& asked, const std::string& results,
                                                      const Interrupts& interrupts);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  std::vector<Node>& all() { return nodes_; }
  const std::vector<Node>& all() const { return nodes_; }
  /// Asks every node the same but for its number, and waits for what each answers under `key`. The error names the node
  /// that says no or is gone. What they say besides is added to `notes`.
  llvm::Expected<std::vector<llvm::json::Value>> ask(const std::vector<llvm::json::Object>& questions,
                                                     llvm::StringRef key, const Interrupts& interrupts,
                                                     std::vector<std::string>& notes);
  /// Of the machine that the engine is on.
  const std::string& bootId() const { return boot_id_; }

 private:
  explicit Nodes(std::string folder);
  llvm::Error launch(const NodesAsked& asked, const Listener& listener);
  llvm::Error meet(const NodesAsked& asked, Listener& listener, const Interrupts& interrupts);
  llvm::Error tooFew(const NodesAsked& asked, const std::string& why) const;
  void settle();

  const std::string folder_;
  std::string boot_id_, secret_, meeting_place_;
  pid_t command_ = -1;
  std::vector<Node> nodes_;
};

}  // namespace expc::engine
