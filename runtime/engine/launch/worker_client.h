#pragma once

// The engine's end of the launch channel (runtime/protocol/trial.h): questions to a worker program (--describe,
// --check,
// --extract) and its launch server (--serve). The other end is runtime/worker/serve. Workers are started by path, never
// linked, so expc itself needs no torch.

#include <llvm/Support/JSON.h>
#include <sys/types.h>

#include <array>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/llvm.h"
#include "runtime/protocol/trial.h"

namespace expc::engine::launch {

/// The answer of `worker --describe`.
struct WorkerDescription {
  std::string build;
  json::Value libraries = json::Object{};
  std::map<std::string, int> workloads;  // name -> version
  /// (workload, parameter, level) for which one process drives all devices of a trial, for example torch's
  /// DataParallel.
  std::set<std::array<std::string, 3>> one_process;

  /// Whether a trial of `workload` with these parameters is one rank that holds all its slots.
  bool isOneProcess(const std::string& workload, const json::Object& parameters) const;
};

/// Parses the answer of the worker `path`. Error: it is no description, or of another version of the protocol.
Expected<WorkerDescription> parseDescription(const std::string& path, const std::string& text);

/// Variables that a worker gets in addition to those of this process, each "NAME=value"; they replace equal names.
using Environment = std::vector<std::string>;

/// Asks a worker program to describe itself. Errors: it is missing (the message says how to build it), it does not run,
/// or its answer cannot be read. An interrupt ends the wait with an error, here and below.
Expected<WorkerDescription> describeWorker(const std::string& path, const Environment& environment = {});

/// Asks expc-worker-command whether these metrics of a command can be read as the study says, for example whether its
/// patterns compile. The error is one line that names the workload and the metric.
Error checkCommand(const std::string& path, const plan::Workload& workload, const std::vector<std::string>& metrics);

/// Asks expc-worker-command (--extract) to read metrics from kept outputs. Returns an event line for each output. The
/// question is written to a file in `folder` meanwhile, since it may be too long for a command line.
Expected<std::vector<std::string>> askForMetrics(const std::string& path, const std::string& folder,
                                                 json::Object question);

/// Receives a message of the launch channel without waiting. Nothing if none has come or the other end is closed;
/// `closed` tells these apart. Error: what came is no message.
Expected<std::optional<protocol::LaunchReply>> receiveReply(int socket, bool& closed);

/// A launch server: one process that forks the ranks of many trials. A default-constructed one is not alive.
class WorkerServer {
 public:
  WorkerServer() = default;
  WorkerServer(WorkerServer&& other) noexcept { *this = std::move(other); }
  WorkerServer& operator=(WorkerServer&& other) noexcept;
  ~WorkerServer();  // stops it: its children die with it

  /// Starts `path --serve FD` and waits until it is ready, at most two minutes; its own output goes to `log`. An
  /// interrupt ends the wait with an error.
  static Expected<WorkerServer> start(const std::string& path, const std::string& log,
                                      const Environment& environment = {});

  /// Asks the server to fork a rank with these descriptors; the caller keeps its copies. `next_fd` is the channel for
  /// further ranks, -1 for none. False if the server is gone.
  bool launch(const protocol::LaunchRequest& request, int event_fd, int log_fd, int next_fd);
  /// Asks the server to kill a rank with its process group. False if the server is gone.
  bool kill(uint64_t launch);
  /// Asks the server to let a rank end its service. False if the server is gone.
  bool endService(uint64_t launch);
  /// The next message, if there is one; does not wait. After an end of file or nonsense the server is not alive.
  std::optional<protocol::LaunchReply> receive();

  int fd() const { return fd_; }
  bool alive() const { return fd_ >= 0; }
  /// How the server ended, for example "killed by signal 9 (Killed)". For a server that is not alive; it is reaped.
  std::string deathText();
  /// Closes the channel, waits up to five seconds for the server's end, then kills it.
  void stop();

 private:
  bool sendOrder(StringRef order, uint64_t launch);

  Descriptor fd_;
  pid_t pid_ = -1;
  std::string nonsense_;
};

/// A status of waitpid in words: "exited with code 7", "killed by signal 6 (Aborted)".
std::string statusText(int status);

}  // namespace expc::engine::launch
