// LocalLauncher: trials on this machine. It talks to a launch server for each worker program over a SOCK_SEQPACKET
// socket, reads the event pipe of each rank, and watches the machine for disturbances while trials run.
//
// A rank of a command may get a process that ran an earlier one and is bound to the same cores (rank_process.h); that
// saves the fork. Whoever ends a rank, it is reported once: by its process, which goes on waiting, or by its server,
// which saw the process end.

#include "runtime/engine/launch/local_launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/file_watch.h"
#include "runtime/engine/launch/rank_process.h"
#include "runtime/plan/command.h"
#include "runtime/protocol/packet.h"
#include "runtime/validity/monitor.h"

namespace expc::engine::launch {
namespace {

// A server dies if the memory killer picks it or somebody kills it; again and again means a fault that no restart
// mends.
constexpr unsigned kMaxRestarts = 3;
// Seconds within which a killed rank must be gone; after that it is stuck, or the server does not do its work.
constexpr double kKillGrace = 20;
// Bytes read from one rank in a turn. More than a pipe holds, so all that it held at the call is read; a rank that
// writes without end waits for its next turn.
constexpr size_t kMostRead = 2 << 20;

class LocalLauncher final : public Launcher {
 public:
  LocalLauncher(LocalWorkers workers, Say say, const Clock& clock, unsigned lanes)
      : say_(std::move(say)),
        clock_(clock),
        lanes_(lanes),
        environment_(std::move(workers.environment)),
        log_(std::move(workers.log)),
        monitor_(validity::Cards(workers.nvml, environment_), getpid()) {
    built_in_.path = std::move(workers.built_in);
    command_.path = std::move(workers.command);
  }

  LauncherDescription describe() const override { return {"local", lanes_}; }

  Expected<uint64_t> start(const TrialRequest& request) override {
    // Each kind of workload has a worker of its own, and so a server.
    Server& server = request.spec.command ? command_ : built_in_;
    // events() notices a dead server while a trial waits for it. One that died idle is noticed here.
    const bool idle = std::ranges::none_of(trials_, [&](auto& one) { return one.second.server == &server; });
    while (idle && server.process.receive()) {
    }
    if (idle && server.started && !server.process.alive() && server.death.empty())
      server.death = server.process.deathText();
    TRY(ready(server));
    const uint64_t id = next_trial_++;
    Trial& trial = trials_[id];
    trial.server = &server;
    // launchRank() adds ranks; if one fails, those that were started are killed and the trial never existed.
    trial.ranks.reserve(request.endRank() - request.first_rank);
    // A service is watched as a part of each trial that uses it.
    if (!request.spec.isService()) watch(id, request);
    if (request.spec.command) watchServices(id, request);
    trial.sampled = request.spec.command && std::ranges::any_of(request.spec.metrics, [](const std::string& metric) {
                      const plan::Outside* seen = plan::seenFromOutside(metric);
                      return seen && seen->sampled;
                    });
    for (unsigned number = request.first_rank; number < request.endRank(); ++number) {
      if (auto error = launchRank(request, number, trial)) {
        kill(id);
        monitor_.end(id, clock_.boot());
        trials_.erase(id);
        return error;
      }
      // A process that ran another rank before says no more that it started.
      if (const int pid = trial.ranks.back().process.pid; trial.sampled && pid > 0) monitor_.sample(id, pid);
    }
    return id;
  }

  Expected<std::vector<RankReport>> events(double until, int wake) override {
    std::vector<pollfd> fds{{wake, POLLIN, 0}};
    for (const Server* server : {&built_in_, &command_}) fds.push_back({server->process.fd(), POLLIN, 0});
    for (const auto& [id, trial] : trials_)
      for (const Rank& rank : trial.ranks)
        for (const int fd : {int(rank.pipe), int(rank.process.channel)}) fds.push_back({fd, POLLIN, 0});
    const double left = std::clamp(until - clock_.boot(), 0.0, kLongestWait);
    poll(fds.data(), fds.size(), int(left * 1000) + 1);
    if (const double now = clock_.boot(); monitor_.isDue(now)) monitor_.look(now);
    // Pipes come first, so that what a rank said is reported before how it ended.
    for (auto& [id, trial] : trials_)
      for (Rank& rank : trial.ranks) readPipe(id, rank, /*last=*/false);
    readProcesses();
    giveUpOverdue();
    for (Server* server : {&built_in_, &command_}) {
      while (auto reply = server->process.receive()) takeReply(*reply);
      if (!server->process.alive()) loseTrials(*server);
    }
    return std::exchange(reports_, {});
  }

  void kill(uint64_t id) override {
    Trial* trial = entryOf(trials_, id);
    if (!trial) return;
    trial->killed_at = clock_.boot();
    for (const Rank& rank : trial->ranks)
      if (!rank.exited) trial->server->process.kill(rank.process.launch);
  }

  void stop(uint64_t id) override {
    const Trial* trial = entryOf(trials_, id);
    if (!trial) return;
    for (const Rank& rank : trial->ranks)
      if (!rank.exited) trial->server->process.endService(rank.process.launch);
  }

  /// Starts the servers that trials may need, so that no trial pays for it.
  Error ready() {
    for (Server* server : {&built_in_, &command_})
      if (!server->path.empty()) TRY(ready(*server));
    return Error::success();
  }

 private:
  /// A launch server, or the place of one that is not started yet.
  struct Server {
    std::string path;
    WorkerServer process;
    bool started = false;                      // was started; if it is not alive now, it died
    std::string death;                         // how it died
    std::optional<inputs::FileStamp> program;  // the file as it was at the first start
  };
  /// A rank that was launched.
  struct Rank {
    unsigned number = 0;
    RankProcess process;
    Descriptor pipe;  // read end of its event pipe
    bool exited = false;
    EventLines lines;
  };
  struct Trial {
    Server* server = nullptr;
    std::vector<Rank> ranks;
    double killed_at = 0;  // boot time; 0: it was not killed
    bool sampled = false;  // a metric wants samples of its processes
  };

  /// Starts the server unless it lives. Error: it died too often, its program changed, or it does not start.
  Error ready(Server& server) {
    if (server.process.alive()) return Error::success();
    if (server.started) {
      if (++restarts_ > kMaxRestarts) {
        return failure(
            "the worker's launch server died {} times; see {}. Results are kept, and the same command continues",
            restarts_, log_);
      }
      say_(fmt::format("the worker's launch server {}: starting it again ({} of {})", server.death, restarts_,
                       kMaxRestarts));
    }
    // A worker that was rebuilt during the run would measure something else than before.
    const std::optional<inputs::FileStamp> program = inputs::stampOf(server.path);
    if (server.program && program && server.program != program) {
      return failure(
          "the worker '{}' changed during the run. Results are kept, and the same command continues with the new "
          "worker",
          server.path);
    }
    server.program = program;
    server.process = TRY(WorkerServer::start(server.path, log_, environment_));
    if (&server == &command_) waiting_.clear();  // waiting processes died with the former server
    server.started = true;
    server.death.clear();
    return Error::success();
  }

  /// Starts watching the cores and GPUs that the trial owns.
  void watch(uint64_t id, const TrialRequest& request) {
    std::vector<int> cores;
    std::vector<unsigned> cards;
    for (unsigned number = 0; number < request.spec.slots.size(); ++number) {
      // Slots of ranks on other nodes belong to other machines. A trial of one rank has all slots here.
      if (request.spec.world_size > 1 && (number < request.first_rank || number >= request.endRank())) continue;
      const json::Object* slot = request.spec.slots[number].getAsObject();
      if (!slot) continue;
      if (const json::Array* own = slot->getArray("cores"))
        for (const json::Value& core : *own)
          if (const auto number = core.getAsInteger()) cores.push_back(int(*number));
      if (slot->getString("device") == "cuda") cards.push_back(unsigned(slot->getInteger("index").value_or(0)));
    }
    monitor_.begin(id, std::move(cores), cards, clock_.boot(), !request.spec.values.empty());
  }

  /// Watches the device memory of services for metrics. They run on the node of the first rank.
  void watchServices(uint64_t id, const TrialRequest& request) {
    for (const plan::Service& service : request.spec.command->services) {
      const std::string& metric = service.command.ready->device_memory;
      const int pid = request.first_rank == 0 ? request.spec.processOf(service) : 0;
      if (!metric.empty() && pid > 0) monitor_.serve(id, metric, pid);
    }
  }

  /// Starts one rank: opens its log and event pipe and hands both to a process. Error: no log, no descriptors, or a
  /// request that is too long.
  Error launchRank(const TrialRequest& request, unsigned number, Trial& trial) {
    const auto failed = [](const std::string& what, int error) {
      return failure("{}: {}. Results so far are kept", what, std::strerror(error));
    };
    const std::string log = request.log(number);
    const Descriptor log_fd(files::openLog(log));
    if (log_fd < 0) return failed(log, errno);
    base::Pipe pipe;
    if (pipe.read < 0) return failed("no pipe for a rank", errno);
    // Non-blocking on our side only: ranks write as usual, and readPipe() never waits.
    fcntl(pipe.read, F_SETFL, O_NONBLOCK);
    protocol::LaunchRequest launch;
    launch.rank = number;
    launch.environment = request.environment[number];
    launch.spec = request.spec;
    ProcessPlace place{number, request.spec.slots, request.spec.memory_limit};
    std::optional<RankProcess> process = launchAgain(launch, place, pipe.write, log_fd);
    // A server that is gone is noticed when its socket is read, and its trials are lost. After any other error nothing
    // would ever come, so it must be returned.
    bool sent = process.has_value();
    if (!sent) {
      process.emplace().place = std::move(place);
      sent = launchNew(launch, *process, *trial.server, pipe.write, log_fd);
    }
    if (!sent && errno != EPIPE && errno != ECONNRESET)
      return failed(errno == EMSGSIZE ? "the trial's parameters and command are too long to send to the worker"
                                      : "the worker's launch server cannot be reached",
                    errno);
    Rank& rank = trial.ranks.emplace_back();
    rank.number = number;
    rank.process = std::move(*process);
    rank.pipe = std::move(pipe.read);
    return Error::success();
  }

  /// Launches the rank in a waiting process that is bound to the same place: no fork, and no way through the server.
  /// Nothing if there is none; a process that died meanwhile is dropped.
  std::optional<RankProcess> launchAgain(protocol::LaunchRequest& launch, const ProcessPlace& place, int event_fd,
                                         int log_fd) {
    while (auto process = waiting_.take(place)) {
      launch.id = process->launch;
      if (protocol::sendPacket(process->channel, canonicalJson(base::written(launch)), {event_fd, log_fd}))
        return process;
    }
    return std::nullopt;
  }

  /// Lets the server fork a process for the rank. False and errno if the request cannot be sent.
  static bool launchNew(protocol::LaunchRequest& launch, RankProcess& process, Server& server, int event_fd,
                        int log_fd) {
    static uint64_t next_launch = 1;  // unique over every server of this process
    launch.id = process.launch = next_launch++;
    int ends[2] = {-1, -1};
    // Ranks of commands get a channel, over which their process can be given another rank. Without a channel (no
    // descriptors left) the process just ends with its rank.
    if (launch.spec.command && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) ends[0] = ends[1] = -1;
    process.channel = Descriptor(ends[0]);
    const Descriptor theirs(ends[1]);
    return server.process.launch(launch, event_fd, log_fd, theirs);
  }

  /// Queues a report for the next return of events().
  void add(uint64_t id, unsigned rank, RankReport report) {
    report.trial = id;
    report.rank = rank;
    if (report.at == 0) report.at = clock_.boot();
    reports_.push_back(std::move(report));
  }

  /// Reads the rank's messages. `last`: nothing more can come, so a line without an end counts, too.
  void readPipe(uint64_t id, Rank& rank, bool last) {
    char piece[65536];
    for (size_t total = 0; rank.pipe >= 0 && total < kMostRead;) {
      const ssize_t size = read(rank.pipe, piece, sizeof piece);
      if (size < 0 && errno == EINTR) continue;
      last |= size == 0 || (size < 0 && errno != EAGAIN);
      if (size <= 0) break;
      total += size;
      for (RankReport& report : rank.lines.add({piece, size_t(size)})) add(id, rank.number, std::move(report));
    }
    if (!last) return;
    rank.pipe.close();
    for (RankReport& report : rank.lines.end()) add(id, rank.number, std::move(report));
  }

  /// Reads what processes of ranks say over their own channels: that the rank ended well. Such a process then waits for
  /// another rank. If the trial was killed, the server may kill the process at any moment, so it is not used again.
  void readProcesses() {
    // Collected first, since takeReply() removes trials from the map that is walked here.
    std::vector<std::pair<protocol::LaunchReply, RankProcess>> ended;
    for (auto& [id, trial] : trials_) {
      for (Rank& rank : trial.ranks) {
        bool closed = false;
        if (rank.process.channel < 0) continue;
        auto reply = receiveReply(rank.process.channel, closed);
        // Only a good end counts here. For any other the server knows more, such as the signal or lack of memory.
        const bool is_end = reply && *reply && (*reply)->type == protocol::LaunchReply::Type::Exited &&
                            (*reply)->id == rank.process.launch && (*reply)->status == 0;
        if ((!is_end && (!reply || *reply || closed)) || trial.killed_at != 0)
          rank.process.channel.close();  // its server will tell how it ended
        if (is_end) ended.emplace_back(std::move(**reply), std::move(rank.process));
        if (!reply) consumeError(reply.takeError());
      }
    }
    for (auto& [reply, process] : ended) {
      takeReply(reply);
      process.pid = reply.pid;
      waiting_.add(std::move(process));
    }
  }

  /// Takes a message about a launch: its rank has started or ended. The trial ends with its last rank; its readings are
  /// reported before that exit.
  void takeReply(const protocol::LaunchReply& reply) {
    for (auto found = trials_.begin(); found != trials_.end(); ++found) {
      auto& [id, trial] = *found;
      const auto rank =
          std::ranges::find_if(trial.ranks, [&](const Rank& one) { return one.process.launch == reply.id; });
      if (rank == trial.ranks.end()) continue;
      RankReport report;
      report.pid = rank->process.pid = reply.pid;
      if (reply.type == protocol::LaunchReply::Type::Started && trial.sampled) monitor_.sample(id, reply.pid);
      if (reply.type == protocol::LaunchReply::Type::Exited) {
        readPipe(id, *rank, /*last=*/true);  // its whole group is dead, so nothing more can come
        rank->exited = true;
        report.what = RankReport::Exited;
        report.status = reply.status;
        report.out_of_memory = reply.out_of_memory;
        report.stuck = reply.stuck;
        report.at = reply.at;
      }
      const bool over = std::ranges::all_of(trial.ranks, &Rank::exited);
      if (over) add(id, rank->number, {.what = RankReport::Readings, .readings = monitor_.end(id, clock_.boot())});
      add(id, rank->number, std::move(report));
      if (over) trials_.erase(found);
      return;
    }
    if (reply.type == protocol::LaunchReply::Type::Exited) waiting_.drop(reply.id);
  }

  /// Gives up on ranks that are still there kKillGrace seconds after they were killed. If their processes exist, they
  /// are stuck in the kernel and keep their devices: the trial is lost. If they are gone, the server failed to report
  /// it and is stopped, which makes it lose its trials.
  void giveUpOverdue() {
    for (auto next = trials_.begin(); next != trials_.end();) {
      const auto at = next++;
      auto& [id, trial] = *at;
      if (trial.killed_at == 0 || clock_.boot() - trial.killed_at <= kKillGrace) continue;
      std::vector<int> stuck;
      for (const Rank& rank : trial.ranks)
        if (!rank.exited && processState(rank.process.pid) != '\0') stuck.push_back(rank.process.pid);
      if (!stuck.empty()) {
        lose(id, trial, "was stopped, but some of its processes are still running", std::move(stuck));
        trials_.erase(at);
      } else if (trial.server->process.alive()) {
        trial.server->death = fmt::format("did not stop a trial within {:.0f} s, and was stopped itself", kKillGrace);
        trial.server->process.stop();
      }
    }
  }

  /// Loses the trials of a server that died.
  void loseTrials(Server& server) {
    if (server.started && server.death.empty()) server.death = server.process.deathText();
    for (auto next = trials_.begin(); next != trials_.end();) {
      const auto at = next++;
      auto& [id, trial] = *at;
      if (trial.server != &server) continue;
      // The kernel kills a dead server's children (PR_SET_PDEATHSIG). What they started is in their process groups.
      for (const Rank& rank : trial.ranks)
        if (rank.process.pid > 0 && !rank.exited) ::kill(-rank.process.pid, SIGKILL);
      std::vector<int> stuck;
      for (const Rank& rank : trial.ranks)
        if (!rank.exited && !waitUntilGone(rank.process.pid)) stuck.push_back(rank.process.pid);
      lose(id, trial, fmt::format("the worker's launch server {}", server.death), std::move(stuck));
      trials_.erase(at);
    }
  }

  /// Reports a trial as lost, after everything that its ranks still said.
  void lose(uint64_t id, Trial& trial, std::string why, std::vector<int> stuck) {
    for (Rank& rank : trial.ranks) readPipe(id, rank, /*last=*/true);
    monitor_.end(id, clock_.boot());
    add(id, 0, {.what = RankReport::Lost, .text = std::move(why), .stuck = std::move(stuck)});
  }

  const Say say_;
  const Clock& clock_;
  const unsigned lanes_;
  const Environment environment_;
  const std::string log_;
  Server built_in_, command_;
  WaitingProcesses waiting_;  // only of the server for commands: their ranks leave nothing behind
  std::map<uint64_t, Trial> trials_;
  std::vector<RankReport> reports_;  // for the next return of events()
  validity::Monitor monitor_;
  uint64_t next_trial_ = 1;
  unsigned restarts_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Launcher>> launcherHere(LocalWorkers workers, Say say, const Clock& clock, unsigned lanes,
                                                 bool ready) {
  auto launcher = std::make_unique<LocalLauncher>(std::move(workers), std::move(say), clock, lanes);
  if (ready) TRY(launcher->ready());
  return launcher;
}

}  // namespace expc::engine::launch
