#include "runtime/engine/trial_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>

#include "runtime/engine/host_memory.h"
#include "runtime/engine/log_tail.h"
#include "runtime/engine/rank.h"

namespace expc::engine {
namespace {

using Clock = std::chrono::steady_clock;
using store::TrialStatus;

// After the first sign of trouble the other ranks have this long to say what they know, so that the cause is found.
constexpr auto kSettle = std::chrono::milliseconds(300);
// After rank 0's result all ranks must end within this.
constexpr auto kEndGrace = std::chrono::seconds(30);
// A killed rank is gone within this, or the server does not do its work.
constexpr auto kKillGrace = std::chrono::seconds(20);
constexpr off_t kMaxLogBytes = 256ll << 20;

Clock::duration seconds(double value) {
  // A timeout of a year is as good as none and does not overflow.
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(value, 3.2e7)));
}

class Runner {
 public:
  Runner(WorkerServer& server, const Interrupts& interrupts, const TrialRequest& request, const TrialHooks& hooks)
      : server_(server), interrupts_(interrupts), request_(request), hooks_(hooks) {}
  llvm::Expected<TrialEnd> run();

 private:
  llvm::Error launchRank(unsigned number);
  void wait();
  void readServer();
  void readRank(Rank& rank);
  llvm::Error checkEachSecond();
  void judge();
  void stop(TrialStatus status, std::string reason, unsigned rank = 0);
  void killRanks();
  std::optional<bool> memoryRanOut() const;
  bool allFinished() const;
  const Rank* worst() const;
  void settleFailure();
  void takeResult();
  TrialEnd finish();
  std::string nameOf(const Rank& rank) const;

  WorkerServer& server_;
  const Interrupts& interrupts_;
  const TrialRequest& request_;
  const TrialHooks& hooks_;
  std::vector<Rank> ranks_;
  std::optional<plan::Event> result_;
  TrialEnd end_;
  const std::optional<uint64_t> kills_before_ = outOfMemoryKills();
  bool stopping_ = false;
  unsigned blamed_ = 0;
  Clock::time_point deadline_, next_check_;
  std::optional<Clock::time_point> settle_until_, killed_at_, result_until_;
};

llvm::Expected<TrialEnd> Runner::run() {
  deadline_ = Clock::now() + seconds(request_.timeout_seconds);
  next_check_ = Clock::now();
  ranks_.reserve(request_.spec.world_size);
  for (unsigned i = 0; i < request_.spec.world_size && server_.alive(); ++i) {
    if (auto error = launchRank(i)) {
      killRanks();
      return error;
    }
  }
  while (!allFinished()) {
    wait();
    if (Clock::now() >= next_check_) {
      if (auto error = checkEachSecond()) {
        killRanks();
        return error;
      }
    }
    judge();
    if (!server_.alive()) {
      end_.server_died = true;
      // Its children die with it; what they have started is in their groups.
      for (const Rank& rank : ranks_) {
        if (rank.pid > 0 && !rank.isExited()) kill(-rank.pid, SIGKILL);
      }
      const std::string death = "the worker's launch server " + server_.deathText();
      stop(TrialStatus::Failed,
           memoryRanOut().value_or(false) ? death + ": the memory of this host ran out, which all ranks share" : death);
      break;
    }
  }
  return finish();
}

llvm::Error Runner::launchRank(unsigned number) {
  auto failed = [&](const std::string& what) {
    return llvm::createStringError(fmt::format("{}: {}; what was measured before is kept", what, std::strerror(errno)));
  };
  std::string log = fmt::format("{}.{}.log", request_.log_prefix, number);
  int log_fd = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (log_fd < 0) return failed(log);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    close(log_fd);
    return failed("no pipe for a rank");
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  static uint64_t next_launch = 1;  // unique over every server of this process
  plan::LaunchRequest launch;
  launch.id = next_launch++;
  launch.rank = number;
  launch.environment = request_.environment[number];
  launch.spec = request_.spec;
  // A server that is gone is noticed when its socket is read; any other trouble would leave us waiting for nothing.
  const bool sent = server_.launch(launch, ends[1], log_fd);
  const int error = errno;
  close(ends[1]);
  close(log_fd);
  if (!sent && error != EPIPE && error != ECONNRESET) {
    close(ends[0]);
    errno = error;
    return failed(error == EMSGSIZE ? "the trial's parameters and command are too long to send to the worker"
                                    : "the worker's launch server cannot be reached");
  }
  ranks_.emplace_back(number, launch.id, ends[0], log);
  return llvm::Error::success();
}

void Runner::wait() {
  std::vector<pollfd> fds{{server_.fd(), POLLIN, 0}, {stopping_ ? -1 : interrupts_.fd(), POLLIN, 0}};
  for (const Rank& rank : ranks_) fds.push_back({rank.fd(), POLLIN, 0});
  Clock::time_point until = next_check_;
  if (!stopping_) until = std::min(until, deadline_);
  for (const auto& moment : {settle_until_, result_until_}) {
    if (moment && !stopping_) until = std::min(until, *moment);
  }
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
  if (poll(fds.data(), fds.size(), int(std::clamp<long long>(left + 1, 0, 1000))) <= 0) return;
  // Pipes first: what a rank said comes before how it ended.
  for (size_t i = 0; i < ranks_.size(); ++i) {
    if (fds[i + 2].revents) readRank(ranks_[i]);
  }
  if (fds[0].revents) readServer();
}

void Runner::readServer() {
  while (auto reply = server_.receive()) {
    for (Rank& rank : ranks_) {
      if (rank.launch != reply->id) continue;
      rank.pid = reply->pid;
      if (reply->type != plan::LaunchReply::Type::Exited) continue;
      readRank(rank);
      rank.closePipe();  // its whole group is dead: nothing more can come
      rank.exited(reply->status, memoryRanOut());
    }
  }
}

void Runner::readRank(Rank& rank) {
  for (plan::Event& event : rank.read()) {
    if (rank.number != 0) continue;
    if (event.type == plan::Event::Type::Progress && hooks_.progress) hooks_.progress(event);
    if (event.type == plan::Event::Type::Result && !result_) {
      result_ = std::move(event);
      result_until_ = std::min(deadline_, Clock::now() + Clock::duration(kEndGrace));
    }
  }
}

llvm::Error Runner::checkEachSecond() {
  next_check_ = Clock::now() + std::chrono::seconds(1);
  for (const Rank& rank : ranks_) {
    struct stat state{};
    if (!stopping_ && stat(rank.log.c_str(), &state) == 0 && state.st_size > kMaxLogBytes) {
      stop(TrialStatus::Failed, fmt::format("{} wrote more than {} MiB of log", nameOf(rank), kMaxLogBytes >> 20),
           rank.number);
    }
  }
  return hooks_.tick ? hooks_.tick() : llvm::Error::success();
}

/// Looks at everything that ends a trial before its time.
void Runner::judge() {
  auto now = Clock::now();
  if (stopping_) {
    // Nothing else can be done with a server that does not kill: its death kills them.
    if (killed_at_ && now - *killed_at_ > kKillGrace) server_.stop();
    return;
  }
  if (interrupts_.requested()) return stop(TrialStatus::Interrupted, "interrupted by the user");
  if (const Rank* rank = worst()) {
    if (!settle_until_) settle_until_ = now + kSettle;
    // The weightiest reason cannot be outdone; the others wait for a better one.
    if (rank->weight == Weight::OutOfMemory || now >= *settle_until_) settleFailure();
    return;
  }
  if (now >= deadline_) {
    return stop(TrialStatus::Timeout,
                fmt::format("not finished after {:.3g} s (--timeout sets another limit)", request_.timeout_seconds));
  }
  if (result_until_ && now >= *result_until_) {
    auto late = std::find_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.isExited(); });
    if (late != ranks_.end()) {
      stop(TrialStatus::Failed,
           fmt::format("{} did not end within {} s of the result", nameOf(*late), kEndGrace.count()), late->number);
    }
  }
}

void Runner::stop(TrialStatus status, std::string reason, unsigned rank) {
  if (stopping_) return;
  stopping_ = true;
  end_.status = status;
  end_.reason = std::move(reason);
  blamed_ = rank;
  killRanks();
}

void Runner::killRanks() {
  killed_at_ = Clock::now();
  for (Rank& rank : ranks_) {
    if (rank.isExited()) continue;
    rank.killed = true;
    server_.kill(rank.launch);
  }
}

/// Whether the kernel has killed a process for memory since the trial began.
std::optional<bool> Runner::memoryRanOut() const {
  const std::optional<uint64_t> kills = outOfMemoryKills();
  if (!kills || !kills_before_) return std::nullopt;
  return *kills > *kills_before_;
}

bool Runner::allFinished() const {
  return ranks_.size() == request_.spec.world_size &&
         std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.finished(); });
}

const Rank* Runner::worst() const {
  const Rank* found = nullptr;
  for (const Rank& rank : ranks_) {
    if (rank.weight != Weight::None && (!found || rank.weight > found->weight)) found = &rank;
  }
  return found;
}

void Runner::settleFailure() {
  const Rank* rank = worst();
  TrialStatus status = rank->weight == Weight::OutOfMemory ? TrialStatus::Infeasible : TrialStatus::Failed;
  const bool said =
      rank->weight == Weight::LostOthers || rank->weight == Weight::SaidFailed || rank->weight == Weight::OutOfMemory;
  const bool named = said && llvm::StringRef(rank->reason).starts_with("rank ");  // by the worker itself
  stop(status, named ? rank->reason : fmt::format("{}{}{}", nameOf(*rank), said ? ": " : " ", rank->reason),
       rank->number);
}

std::string Runner::nameOf(const Rank& rank) const {
  return request_.spec.world_size == 1 ? "the worker" : fmt::format("rank {}", rank.number);
}

/// Every rank ended well: does rank 0's result hold what was asked for?
void Runner::takeResult() {
  if (!result_) return stop(TrialStatus::Failed, "the worker ended without a result");
  for (const std::string& name : request_.spec.metrics) {
    const llvm::json::Value* value = result_->metrics.get(name);
    if (result_->series.get(name) && (!value || value->getAsNull())) continue;  // taken below
    if (!value) return stop(TrialStatus::Failed, fmt::format("the worker's result lacks the metric {}", name));
    if (auto number = value->getAsNumber()) {
      end_.metrics[name] = *number;
    } else {
      end_.not_on_device.push_back(name);
    }
  }
  for (const auto& [name, value] : result_->series) {
    std::vector<double>& numbers = end_.series[name.str()];
    if (const llvm::json::Array* array = value.getAsArray()) {
      for (const llvm::json::Value& element : *array) numbers.push_back(element.getAsNumber().value_or(0));
    }
  }
  if (request_.spec.rehearsal && !result_->rehearsed) {
    return stop(TrialStatus::Failed,
                "the worker's result lacks what was rehearsed: it is older than this expc; build both from one tree");
  }
  end_.rehearsed = std::move(result_->rehearsed);
  end_.status = TrialStatus::Valid;
  end_.environment = std::move(result_->environment);
  end_.notes = std::move(result_->notes);
}

TrialEnd Runner::finish() {
  if (!stopping_ && worst()) settleFailure();
  if (!stopping_) takeResult();
  bool wants_log = end_.status == TrialStatus::Failed || end_.status == TrialStatus::Timeout ||
                   end_.status == TrialStatus::Infeasible;
  if (wants_log && blamed_ < ranks_.size()) end_.log_tail = logTail(ranks_[blamed_].log);
  for (const Rank& rank : ranks_) {
    struct stat state{};
    if (stat(rank.log.c_str(), &state) == 0 && state.st_size == 0) unlink(rank.log.c_str());
  }
  return std::move(end_);
}

}  // namespace

llvm::Expected<TrialEnd> runTrial(WorkerServer& server, const Interrupts& interrupts, const TrialRequest& request,
                                  const TrialHooks& hooks) {
  return Runner(server, interrupts, request, hooks).run();
}

}  // namespace expc::engine
