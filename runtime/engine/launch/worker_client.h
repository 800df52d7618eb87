#pragma once

// The engine's end of the launch channel (runtime/protocol/trial.h): a worker program, what it offers, and its launch
// server.

#include <llvm/Support/Error.h>
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
#include "runtime/protocol/trial.h"

namespace expc::engine::launch {

/// What `worker --describe` printed.
struct WorkerDescription {
  std::string build;
  llvm::json::Value libraries = llvm::json::Object{};
  std::map<std::string, int> workloads;  // name -> version
  /// With what one process drives all devices of a trial: a workload, a parameter of it, a level of that.
  std::set<std::array<std::string, 3>> one_process;

  /// Whether a trial of `workload` with these parameters is one rank that holds all its slots.
  bool isOneProcess(const std::string& workload, const llvm::json::Object& parameters) const;
};

/// Of what the worker `path` printed. The error names it and says what is wrong.
llvm::Expected<WorkerDescription> parseDescription(const std::string& path, const std::string& text);

/// Variables that a worker gets beside those of this process, "NAME=value".
using Environment = std::vector<std::string>;

/// Asks the worker program. Errors: it is missing (and how to build it), does not run, prints nonsense.
llvm::Expected<WorkerDescription> describeWorker(const std::string& path, const Environment& environment = {});

/// Asks expc-worker-command whether these metrics of a command can be read as it says: patterns, pointers. The error is
/// one line with the workload and the metric.
llvm::Error checkCommand(const std::string& path, const plan::Workload& workload,
                         const std::vector<std::string>& metrics);

/// Asks expc-worker-command to read metrics out of kept outputs (its --extract): an event line for each of them. The
/// question is written to `folder` meanwhile.
llvm::Expected<std::vector<std::string>> askForMetrics(const std::string& path, const std::string& folder,
                                                       llvm::json::Object question);

/// A message of the launch channel; the error says why what came is none. None where the other end is closed or nothing
/// has come, which `closed` tells apart.
llvm::Expected<std::optional<protocol::LaunchReply>> receiveReply(int socket, bool& closed);

/// A launch server, one process for many trials.
class WorkerServer {
 public:
  WorkerServer() = default;
  WorkerServer(WorkerServer&& other) noexcept { *this = std::move(other); }
  WorkerServer& operator=(WorkerServer&& other) noexcept;
  ~WorkerServer();  // stops it: its children die with it

  /// Starts `path --serve FD` and waits until it is ready; its own output goes to `log`. An interrupt ends the wait
  /// with an error.
  static llvm::Expected<WorkerServer> start(const std::string& path, const std::string& log,
                                            const Environment& environment = {});

  /// Hands over the descriptors (the caller keeps its copies); `next_fd` may be -1. False when the server is gone.
  bool launch(const protocol::LaunchRequest& request, int event_fd, int log_fd, int next_fd);
  bool kill(uint64_t launch);
  /// The next message, if one is there. After an end of file or nonsense `alive()` is false.
  std::optional<protocol::LaunchReply> receive();

  int fd() const { return fd_; }
  bool alive() const { return fd_ >= 0; }
  /// "killed by signal 9 (Killed)": how it ended; for a server that is not alive. Reaps it.
  std::string deathText();
  void stop();

 private:
  base::Descriptor fd_;
  pid_t pid_ = -1;
  std::string nonsense_;
};

/// "exited with code 7", "killed by signal 6 (Aborted)": a status as from waitpid.
std::string statusText(int status);

}  // namespace expc::engine::launch
