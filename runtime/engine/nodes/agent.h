#pragma once

// The part of the engine that runs on another node, and the protocol between the two: JSON objects, one a line, over
// the agent's standard input and output.
//
// The agent begins with a description of its machine (`here`). Then the engine asks, one thing at a time: to describe
// the workers (`describe`), to copy data (`copy`), to begin (`begin`, once the run has its results folder), to heat
// cores (`heat`). From then on it sends `start` and `kill`, and the agent sends `reports`. The agent may send `say` for
// the user, and `error` as its last message. It ends when its standard input does, and all that it runs ends with it.

#include <llvm/Support/JSON.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/data.h"
#include "runtime/engine/launch/local_launcher.h"
#include "runtime/machine/machine.h"

namespace expc::engine::nodes {

/// Serves the engine at the other end of the standard streams until these end or SIGTERM comes; the body of `expc
/// agent`.
void runAgent();

/// One end of the conversation. Owns its descriptors. Not thread-safe.
class Lines {
 public:
  Lines() = default;
  /// Programs between the two ends may print on the same stream (a shell's greeting, a prolog of Slurm). So messages
  /// are marked, and everything else goes to the file `log`, or nowhere if that is "".
  Lines(Descriptor in, Descriptor out, std::string log = "")
      : in_(std::move(in)), out_(std::move(out)), log_(std::move(log)) {}

  int fd() const { return in_; }
  bool isOpen() const { return in_ >= 0; }
  void close() { in_.close(), out_.close(); }
  /// Closes the sending direction, so that the other end finishes. What it says until then can still be received.
  void finish() { out_.close(); }
  /// Whether the other end is still there. What it has said can be received in any case.
  bool hasPeer() const;
  /// Sends one message; may block while the pipe is full. False if nobody reads any more; what the other end has said
  /// can still be received.
  bool send(const json::Object& message);
  /// The complete messages that have come, without waiting. A message that cannot be parsed becomes an object with
  /// `error`. Closes the conversation at its end, after a line longer than `longest` bytes, and after more than
  /// `longest` bytes that are no messages.
  std::vector<json::Object> receive(size_t longest = 64 << 20);

 private:
  /// Sorts one line into `messages` or, as noise, into `others`.
  void take(StringRef line, std::string& others, std::vector<json::Object>& messages);

  Descriptor in_, out_;
  /// `rest_`: a line that is not complete yet.
  std::string log_, rest_;
  size_t noise_ = 0;  // bytes received that were no messages
};

/// A node, as its agent describes it.
struct Introduction {
  std::string name;       // of the node
  std::string address;    // at which other nodes reach it
  std::string interface;  // network interface with this address; "": not known
  Machine machine;
};
void describe(JsonRecord& io, Introduction& node);

/// Data to be copied to the node's scratch disk.
struct CopyTask {
  std::vector<inputs::ScratchCopy> copies;
};
void describe(JsonRecord& io, CopyTask& task);

/// The parts that an agent needs to begin: workers, lanes and leases.
struct AgentTask {
  launch::LocalWorkers workers;  // `nvml` not "": the node uses its own NVML
  unsigned lanes = 1;
  std::string devices;  // as in `--devices`: these are leased
  std::string locks;    // folder of leases on the node; "": none
  std::string owner;    // text that others are shown of the leases
};

void describe(JsonRecord& io, AgentTask& task);

}  // namespace expc::engine::nodes
