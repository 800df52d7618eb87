#pragma once

// The part of an engine that runs on a node, and what the two say to each other: JSON objects, one a line, over the
// agent's standard input and output.
//
// An agent begins, with what its machine is (`here`). Then the engine asks, one thing at a time: what the workers are
// (`describe`), to copy data (`copy`), and to begin (`begin`, once the run has its results folder); from then on it
// sends `start` and `kill`, and the agent sends `reports`. The agent ends with its standard input, and all that it runs
// with it.

#include <llvm/Support/JSON.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/json_record.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/local_launcher.h"
#include "runtime/machine/machine.h"

namespace expc::engine::nodes {

/// Serves the engine at the other end of the standard streams until these end.
void runAgent();

/// One end of a conversation; owns its descriptors.
class Lines {
 public:
  Lines() = default;
  /// Whatever is between the two ends may print on the same stream (a shell's greeting, a prolog of Slurm): what is
  /// marked as a message is one, and everything else goes to the file `log`, or nowhere where that is "".
  Lines(base::Descriptor in, base::Descriptor out, std::string log = "")
      : in_(std::move(in)), out_(std::move(out)), log_(std::move(log)) {}

  int fd() const { return in_; }
  bool isOpen() const { return in_ >= 0; }
  void close() { in_.close(), out_.close(); }
  /// Says nothing more, so that the other end comes to an end; what that says until then can still be received.
  void finish() { out_.close(); }
  /// Whether the other end still hears and speaks. What it has said stays to be received.
  bool hasPeer() const;
  /// Sends one message, and waits until it is on its way. False where nobody hears any more; what the other end has
  /// said stays to be received.
  bool send(const llvm::json::Object& message);
  /// The whole messages of what has come, without waiting; one that cannot be read stands as an `error` that says so.
  /// Closed after the end, after a line longer than `longest` bytes, and after more than that of what is no message.
  std::vector<llvm::json::Object> receive(size_t longest = 64 << 20);

 private:
  void take(llvm::StringRef line, std::string& others, std::vector<llvm::json::Object>& messages);

  base::Descriptor in_, out_;
  std::string log_, rest_;
  size_t noise_ = 0;  // bytes of lines that were no messages
};

struct Introduction {
  std::string name;       // of the node
  std::string address;    // by which other nodes reach it
  std::string interface;  // that has this address; "": not known
  machine::Machine machine;
};
void describe(base::JsonRecord& io, Introduction& node);

struct CopyTask {
  std::vector<inputs::ScratchCopy> copies;
};
void describe(base::JsonRecord& io, CopyTask& task);

/// The inputs of an agent's launcher.
struct AgentTask {
  launch::LocalWorkers workers;  // with any NVML, where the node is to use its own
  unsigned lanes = 1;
  std::string devices;  // as `--devices`: what a lease is taken on
  std::string locks;    // folder of leases on the node; "": none are taken
  std::string owner;    // what others are told of the leases
};

void describe(base::JsonRecord& io, AgentTask& task);

}  // namespace expc::engine::nodes
