#include "runtime/engine/launch/local_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
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
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/engine/inputs/file_watch.h"
#include "runtime/engine/launch/rank_process.h"
#include "runtime/protocol/packet.h"
#include "runtime/validity/monitor.h"

namespace expc::engine::launch {
namespace {

constexpr unsigned kMaxRestarts = 3;
// A killed rank is gone within this, or the server does not do its work.
constexpr double kKillGrace = 20;
// More than a pipe holds: what was in it when the call began is read, and one who writes on and on waits for its turn.
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

  llvm::Expected<uint64_t> start(const TrialRequest& request) override {
    Server& server = request.spec.command ? command_ : built_in_;
    // A server that died with nothing to do has not been noticed yet.
    const bool idle = std::ranges::none_of(trials_, [&](auto& one) { return one.second.server == &server; });
    while (idle && server.process.receive()) {
    }
    if (idle && server.started && !server.process.alive() && server.death.empty())
      server.death = server.process.deathText();
    if (auto error = ready(server)) return error;
    const uint64_t id = next_trial_++;
    Trial& trial = trials_[id];
    trial.server = &server;
    trial.ranks.reserve(request.endRank() - request.first_rank);
    watch(id, request);
    for (unsigned number = request.first_rank; number < request.endRank(); ++number) {
      if (auto error = launchRank(request, number, trial)) {
        kill(id);
        monitor_.end(id, clock_.boot());
        trials_.erase(id);
        return error;
      }
    }
    return id;
  }

  llvm::Expected<std::vector<RankReport>> events(double until, int wake) override {
    std::vector<pollfd> fds{{wake, POLLIN, 0}};
    for (const Server* server : {&built_in_, &command_}) fds.push_back({server->process.fd(), POLLIN, 0});
    for (const auto& [id, trial] : trials_)
      for (const Rank& rank : trial.ranks)
        for (const int fd : {int(rank.pipe), int(rank.process.channel)}) fds.push_back({fd, POLLIN, 0});
    const double left = std::clamp(until - clock_.boot(), 0.0, kLongestWait);
    poll(fds.data(), fds.size(), static_cast<int>(left * 1000) + 1);
    if (const double now = clock_.boot(); monitor_.isDue(now)) monitor_.look(now);
    // Pipes first: what a rank said comes before how it ended.
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
    const auto found = trials_.find(id);
    if (found == trials_.end()) return;
    found->second.killed_at = clock_.boot();
    for (const Rank& rank : found->second.ranks)
      if (!rank.exited) found->second.server->process.kill(rank.process.launch);
  }

  llvm::Error ready() {
    for (Server* server : {&built_in_, &command_})
      if (!server->path.empty())
        if (auto error = ready(*server)) return error;
    return llvm::Error::success();
  }

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

  llvm::Error ready(Server& server) {
    if (server.process.alive()) return llvm::Error::success();
    if (server.started) {
      if (++restarts_ > kMaxRestarts) {
        return base::failure(
            "the worker's launch server died {} times; see {}. What was measured is kept, and the same "
            "command continues",
            restarts_, log_);
      }
      say_(fmt::format("the worker's launch server {}: starting it again ({} of {})", server.death, restarts_,
                       kMaxRestarts));
    }
    const std::optional<inputs::FileStamp> program = inputs::stampOf(server.path);
    if (server.program && program && server.program != program) {
      return base::failure(
          "the worker '{}' has been changed since this run began: what was measured is kept, "
          "and the same command continues with the one that is there then",
          server.path);
    }
    server.program = program;
    auto process = WorkerServer::start(server.path, log_, environment_);
    if (!process) return process.takeError();
    server.process = std::move(*process);
    if (&server == &command_) waiting_.clear();  // they died with the one before
    server.started = true;
    server.death.clear();
    return llvm::Error::success();
  }

  /// Begins to look at what the trial owns.
  void watch(uint64_t id, const TrialRequest& request) {
    std::vector<int> cores;
    std::vector<unsigned> cards;
    for (unsigned number = 0; number < request.spec.slots.size(); ++number) {
      // Slots of ranks elsewhere are other machines'.
      if (request.spec.world_size > 1 && (number < request.first_rank || number >= request.endRank())) continue;
      const llvm::json::Object* slot = request.spec.slots[number].getAsObject();
      if (!slot) continue;
      if (const llvm::json::Array* own = slot->getArray("cores"))
        for (const llvm::json::Value& core : *own)
          if (const auto number = core.getAsInteger()) cores.push_back(static_cast<int>(*number));
      if (slot->getString("device") == "cuda")
        cards.push_back(static_cast<unsigned>(slot->getInteger("index").value_or(0)));
    }
    monitor_.begin(id, std::move(cores), cards, clock_.boot());
  }

  llvm::Error launchRank(const TrialRequest& request, unsigned number, Trial& trial) {
    const auto failed = [](const std::string& what, int error) {
      return base::failure("{}: {}; what was measured before is kept", what, std::strerror(error));
    };
    const std::string log = request.log(number);
    const base::Descriptor log_fd(files::openLog(log));
    if (log_fd < 0) return failed(log, errno);
    base::Pipe pipe;
    if (pipe.read < 0) return failed("no pipe for a rank", errno);
    fcntl(pipe.read, F_SETFL, O_NONBLOCK);
    protocol::LaunchRequest launch;
    launch.rank = number;
    launch.environment = request.environment[number];
    launch.spec = request.spec;
    ProcessPlace place{number, request.spec.slots, request.spec.memory_limit};
    std::optional<RankProcess> process = launchAgain(launch, place, pipe.write, log_fd);
    // A server that is gone is noticed when its socket is read; any other trouble would leave us waiting for nothing.
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
    return llvm::Error::success();
  }

  /// By a process that waits and is bound where this rank is to be: no fork, and no way through the server.
  std::optional<RankProcess> launchAgain(protocol::LaunchRequest& launch, const ProcessPlace& place, int event_fd,
                                         int log_fd) {
    while (auto process = waiting_.take(place)) {
      launch.id = process->launch;
      if (protocol::sendPacket(process->channel, base::canonicalJson(base::written(launch)), {event_fd, log_fd}))
        return process;
    }
    return std::nullopt;
  }

  static bool launchNew(protocol::LaunchRequest& launch, RankProcess& process, Server& server, int event_fd,
                        int log_fd) {
    static uint64_t next_launch = 1;  // unique over every server of this process
    launch.id = process.launch = next_launch++;
    int ends[2] = {-1, -1};
    // Without one the rank has a process for itself.
    if (launch.spec.command && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) ends[0] = ends[1] = -1;
    process.channel = base::Descriptor(ends[0]);
    const base::Descriptor theirs(ends[1]);
    return server.process.launch(launch, event_fd, log_fd, theirs);
  }

  void add(uint64_t id, unsigned rank, RankReport report) {
    report.trial = id;
    report.rank = rank;
    if (report.at == 0) report.at = clock_.boot();
    reports_.push_back(std::move(report));
  }

  /// Reads the rank's messages; `last`: nothing more can come.
  void readPipe(uint64_t id, Rank& rank, bool last) {
    char piece[65536];
    for (size_t total = 0; rank.pipe >= 0 && total < kMostRead;) {
      const ssize_t size = read(rank.pipe, piece, sizeof piece);
      if (size < 0 && errno == EINTR) continue;
      last |= size == 0 || (size < 0 && errno != EAGAIN);
      if (size <= 0) break;
      total += size;
      for (RankReport& report : rank.lines.add({piece, static_cast<size_t>(size)}))
        add(id, rank.number, std::move(report));
    }
    if (!last) return;
    rank.pipe.close();
    for (RankReport& report : rank.lines.end()) add(id, rank.number, std::move(report));
  }

  /// What ranks' processes say themselves: that the rank ended well. They wait for another one then, unless the server
  /// was told to kill them.
  void readProcesses() {
    std::vector<std::pair<protocol::LaunchReply, RankProcess>> ended;
    for (auto& [id, trial] : trials_) {
      for (Rank& rank : trial.ranks) {
        bool closed = false;
        if (rank.process.channel < 0) continue;
        auto reply = receiveReply(rank.process.channel, closed);
        const bool is_end = reply && *reply && (*reply)->type == protocol::LaunchReply::Type::Exited &&
                            (*reply)->id == rank.process.launch && (*reply)->status == 0;
        if ((!is_end && (!reply || *reply || closed)) || trial.killed_at != 0)
          rank.process.channel.close();  // its server will tell how it ended
        if (is_end) ended.emplace_back(std::move(**reply), std::move(rank.process));
        if (!reply) llvm::consumeError(reply.takeError());
      }
    }
    for (auto& [reply, process] : ended) {
      takeReply(reply);
      process.pid = reply.pid;
      waiting_.add(std::move(process));
    }
  }

  void takeReply(const protocol::LaunchReply& reply) {
    for (auto found = trials_.begin(); found != trials_.end(); ++found) {
      auto& [id, trial] = *found;
      const auto rank =
          std::ranges::find_if(trial.ranks, [&](const Rank& one) { return one.process.launch == reply.id; });
      if (rank == trial.ranks.end()) continue;
      RankReport report;
      report.pid = rank->process.pid = reply.pid;
      if (reply.type == protocol::LaunchReply::Type::Exited) {
        readPipe(id, *rank, /*last=*/true);  // its whole group is dead
        rank->exited = true;
        report.what = RankReport::What::Exited;
        report.status = reply.status;
        report.out_of_memory = reply.out_of_memory;
        report.stuck = reply.stuck;
        report.at = reply.at;
      }
      const bool over = std::ranges::all_of(trial.ranks, [](const Rank& one) { return one.exited; });
      if (over)
        add(id, rank->number, {.what = RankReport::What::Readings, .readings = monitor_.end(id, clock_.boot())});
      add(id, rank->number, std::move(report));
      if (over) trials_.erase(found);
      return;
    }
    if (reply.type == protocol::LaunchReply::Type::Exited) waiting_.drop(reply.id);
  }

  /// A rank that is killed and there all the same keeps its devices, and nothing can be done. Where its process is
  /// gone, the server does not do its work: its death kills its ranks.
  void giveUpOverdue() {
    for (auto next = trials_.begin(); next != trials_.end();) {
      const auto at = next++;
      auto& [id, trial] = *at;
      if (trial.killed_at == 0 || clock_.boot() - trial.killed_at <= kKillGrace) continue;
      std::vector<int> stuck;
      for (const Rank& rank : trial.ranks)
        if (!rank.exited && processState(rank.process.pid) != '\0') stuck.push_back(rank.process.pid);
      if (!stuck.empty()) {
        lose(id, trial, "was ended, and not all of it is gone", std::move(stuck));
        trials_.erase(at);
      } else if (trial.server->process.alive()) {
        trial.server->death =
            fmt::format("had not ended a trial {:.0f} s after it was told to, and was stopped", kKillGrace);
        trial.server->process.stop();
      }
    }
  }

  void loseTrials(Server& server) {
    if (server.started && server.death.empty()) server.death = server.process.deathText();
    for (auto next = trials_.begin(); next != trials_.end();) {
      const auto at = next++;
      auto& [id, trial] = *at;
      if (trial.server != &server) continue;
      // Its children die with it; what they have started is in their groups.
      for (const Rank& rank : trial.ranks)
        if (rank.process.pid > 0 && !rank.exited) ::kill(-rank.process.pid, SIGKILL);
      std::vector<int> stuck;
      for (const Rank& rank : trial.ranks)
        if (!rank.exited && !waitUntilGone(rank.process.pid)) stuck.push_back(rank.process.pid);
      lose(id, trial, "the worker's launch server " + server.death, std::move(stuck));
      trials_.erase(at);
    }
  }

  void lose(uint64_t id, Trial& trial, std::string why, std::vector<int> stuck) {
    for (Rank& rank : trial.ranks) readPipe(id, rank, /*last=*/true);
    monitor_.end(id, clock_.boot());
    add(id, 0, {.what = RankReport::What::Lost, .text = std::move(why), .stuck = std::move(stuck)});
  }

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

}  // namespace

llvm::Expected<std::unique_ptr<Launcher>> launcherHere(LocalWorkers workers, Say say, const Clock& clock,
                                                       unsigned lanes, bool ready) {
  auto launcher = std::make_unique<LocalLauncher>(std::move(workers), std::move(say), clock, lanes);
  if (ready)
    if (auto error = launcher->ready()) return error;
  return launcher;
}

}  // namespace expc::engine::launch
