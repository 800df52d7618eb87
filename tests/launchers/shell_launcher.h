#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>

#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/engine/launch/clock.h"
#include "runtime/engine/launch/launcher.h"

namespace expc::engine::launch {
/// Runs trials in a list of shells, one at a time in each: {"sh -c", "ssh node7 sh -c"}. A shell is a program and its
/// first arguments; the last one is the command line. The results folder is the same for all of them.
class ShellLauncher final : public Launcher {
 public:
  ShellLauncher(std::vector<std::string> shells, std::string worker, std::string command_worker)
      : shells_(std::move(shells)), worker_(std::move(worker)), command_worker_(std::move(command_worker)) {}
  LauncherDescription describe() const override { return {"shells", unsigned(shells_.size())}; }
  Expected<uint64_t> start(const TrialRequest& request) override {
    const std::string spec = request.log_prefix + ".trial.json";
    if (!(std::ofstream(spec) << base::canonicalJson(base::written(request.spec))))
      return llvm::createStringError("cannot write " + spec);
    const uint64_t trial = next_++;
    unsigned shell = 0;  // one without a trial: there is one, since no more than lanes are started
    while (std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) { return rank.shell == shell; })) ++shell;
    for (unsigned number = 0; number < request.spec.world_size; ++number) {
      // A command gets its variables and no others, a built-in workload also those that the shell has.
      std::string line = request.spec.command ? "exec env -i" : "exec env";
      for (const std::string& variable : request.environment[number]) line += " " + quoted(variable);
      line += " " + quoted(request.spec.command ? command_worker_ : worker_) + " --trial " + quoted(spec) + " 2> " +
              quoted(request.log(number));
      int pipe[2];
      if (pipe2(pipe, O_CLOEXEC) != 0) return kill(trial), llvm::createStringError("no pipe for a rank");
      fcntl(pipe[0], F_SETFL, O_NONBLOCK);
      const pid_t pid = fork();
      if (pid == 0) {
        setpgid(0, 0);
        dup2(pipe[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", (shells_[shell] + " " + quoted(line)).c_str(), nullptr);
        _exit(127);
      }
      close(pipe[1]);
      ranks_.push_back({trial, number, shell, pid, pipe[0], {}});
    }
    return trial;
  }

  Expected<std::vector<RankReport>> events(double until, int wake) override {
    std::vector<pollfd> waiting{{wake, POLLIN, 0}};
    for (const Rank& rank : ranks_) waiting.push_back({rank.pipe, POLLIN, 0});
    poll(waiting.data(), waiting.size(), int(1000 * std::clamp(until - Clock::real().boot(), 0.0, 1.0)) + 1);
    std::vector<RankReport> reports;
    std::erase_if(ranks_, [&](Rank& rank) { return read(rank, reports); });
    return reports;
  }

  void kill(uint64_t trial) override {
    for (const Rank& rank : ranks_)
      if (rank.trial == trial) ::kill(-rank.pid, SIGKILL);
  }

 private:
  struct Rank {
    uint64_t trial;
    unsigned number, shell;
    pid_t pid;
    int pipe;
    EventLines lines;
  };
  static std::string quoted(std::string text) {
    for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
    return "'" + text + "'";
  }
  /// Reports what the rank wrote; true once it is gone.
  static bool read(Rank& rank, std::vector<RankReport>& reports) {
    std::string piece(1 << 20, '\0');  // more than a pipe holds
    const ssize_t size = ::read(rank.pipe, piece.data(), piece.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    RankReport exit{.what = RankReport::What::Exited};
    const bool gone = size <= 0 && waitpid(rank.pid, &exit.status, WNOHANG) != 0;
    auto found = size > 0 ? rank.lines.add(piece.substr(0, size)) : rank.lines.end();
    if (gone) found.push_back(exit), close(rank.pipe);
    for (RankReport& report : found) {
      report.trial = rank.trial, report.rank = rank.number, report.at = Clock::real().boot();
      reports.push_back(report);
    }
    return gone;
  }
  const std::vector<std::string> shells_;
  const std::string worker_, command_worker_;
  std::vector<Rank> ranks_;
  uint64_t next_ = 1;
};
}  // namespace expc::engine::launch
