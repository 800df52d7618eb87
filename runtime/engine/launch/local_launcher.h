#pragma once

// Runs trials on this machine: through a launch server for each worker program, which forks their ranks.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/engine/inputs/file_watch.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/engine/launch/rank_process.h"
#include "runtime/engine/launch/worker_client.h"
#include "runtime/validity/monitor.h"

namespace expc::engine::launch {

/// The worker programs; "" where no trial needs it.
struct LocalWorkers {
  std::string built_in, command;
  Environment environment;  // beside this process's
  std::string log;          // where the servers' own output goes
  std::string nvml = "";    // the library that knows the cards; "" where none is used
};

class LocalLauncher final : public Launcher {
 public:
  LocalLauncher(LocalWorkers workers, Say say, const Clock& clock = Clock::real(), unsigned lanes = 1);

  LauncherDescription describe() const override { return {"local", lanes_}; }
  llvm::Expected<uint64_t> start(const TrialRequest& request) override;
  llvm::Expected<std::vector<RankReport>> events(double until, int wake) override;
  void kill(uint64_t trial) override;

  /// Starts the servers of all its workers that do not run, as `start` does for one: those that died are started again,
  /// three times in all. An interrupt while one starts is an error.
  llvm::Error ready();
  /// Ends the servers, and with them whatever runs.
  void stop();

 private:
  struct Server {
    std::string path;
    WorkerServer process;
    bool started = false;                      // and if it does not live now, it died
    std::string death;                         // how
    std::optional<inputs::FileStamp> program;  // as it was when it was started first
  };
  struct Rank {
    unsigned number = 0;
    RankProcess process;
    base::Descriptor pipe;  // its event pipe, to read from
    bool exited = false;
    EventLines lines;
  };
  struct Trial {
    Server* server = nullptr;
    std::vector<Rank> ranks;
    double killed_at = 0;  // boot time; 0: not
  };

  llvm::Error ready(Server& server);
  llvm::Error launchRank(const TrialRequest& request, unsigned number, Trial& trial);
  std::optional<RankProcess> launchAgain(plan::LaunchRequest& launch, const ProcessPlace& place, int event_fd,
                                         int log_fd);
  static bool launchNew(plan::LaunchRequest& launch, RankProcess& process, Server& server, int event_fd, int log_fd);
  void wait(double until, int wake);
  /// What the rank has said; `last`: nothing more can come.
  void readPipe(uint64_t id, Rank& rank, bool last);
  void readProcesses();
  void takeReply(const plan::LaunchReply& reply);
  void giveUpOverdue();
  void loseTrials(Server& server);
  void lose(uint64_t id, Trial& trial, std::string why, std::vector<int> stuck);
  void watch(uint64_t id, const TrialRequest& request);
  void add(uint64_t id, unsigned rank, RankReport report);

  const Say say_;
  const Clock& clock_;
  const unsigned lanes_;
  const Environment environment_;
  const std::string log_;
  Server built_in_, command_;
  WaitingProcesses waiting_;  // of the server for commands: its ranks leave nothing behind in their process
  std::map<uint64_t, Trial> trials_;
  std::vector<RankReport> reports_;  // not handed out yet
  validity::Monitor monitor_;
  uint64_t next_trial_ = 1;
  unsigned restarts_ = 0;
};

}  // namespace expc::engine::launch
