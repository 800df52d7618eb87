#include "runtime/engine/launch/trial_runner.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/words.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/engine/launch/interrupts.h"
#include "runtime/engine/launch/rank_process.h"
#include "runtime/plan/command.h"

namespace expc::engine::launch {
namespace {

constexpr double kLook = 1;  // seconds between two looks at the sizes of logs
// Seconds after which a service that was told to end is killed; its worker kills the program earlier.
constexpr double kServiceEnds = 20;

/// Bytes of a file; UINT64_MAX if there is none.
uint64_t sizeOf(const std::string& path) {
  struct stat state{};
  return stat(path.c_str(), &state) == 0 ? state.st_size : UINT64_MAX;
}

/// The end of a rank's log. If the command worker wrote none, because it was killed, the end of its program's output:
/// errors first.
std::string lastWords(const TrialRequest& request, unsigned rank) {
  std::string tail = files::lastWords(request.log(rank));
  if (!request.spec.command) return tail;
  for (const char* output : {plan::kErrors, plan::kOutput})
    if (tail.empty()) tail = files::lastWords(plan::outputOf(request.spec.folder, output, rank));
  return tail;
}

/// Tells `watch` of each rank whose log has grown beyond the limit; the launcher cannot see it, since ranks write to
/// the file directly.
void watchLogs(const TrialRequest& request, TrialWatch& watch) {
  for (unsigned rank = 0; rank < request.spec.world_size; ++rank) {
    const uint64_t size = sizeOf(request.log(rank));
    if (size != UINT64_MAX && size > request.spec.log_limit) watch.flooded(rank);
  }
}

}  // namespace

Error besideStuck(const std::string& who) {
  return failure(
      "{}, was killed but is still running, so expc stopped. Results are kept. Once the process is gone (a reboot "
      "always helps), the same command continues",
      who);
}

void removeEmptyLogs(const TrialRequest& request) {
  for (unsigned rank = 0; rank < request.spec.world_size; ++rank)
    if (sizeOf(request.log(rank)) == 0) unlink(request.log(rank).c_str());
}

Error TrialRunner::start(TrialRequest request, TrialHooks hooks) {
  const double begin = clock_.boot();
  auto id = launcher_.start(request);
  if (id) {
    trials_.try_emplace(*id, std::move(request), begin, std::move(hooks));
    return Error::success();
  }
  // An interrupt lets the start of a worker fail, which is then no error.
  if (!Interrupts::requested()) return id.takeError();
  consumeError(id.takeError());
  TrialEnd none;
  none.status = TrialStatus::Interrupted;
  none.reason = "interrupted by the user";
  return hooks.ended(std::move(none));
}

Error TrialRunner::attend() {
  Error error = listen();
  // No trial may outlive the run that would have recorded it.
  if (error)
    for (const auto& [id, trial] : trials_) launcher_.kill(id);
  return error;
}

Error TrialRunner::listen() {
  // The time is taken before the reports: TrialWatch::judge() wants everything that happened before `now`.
  const double now = clock_.boot();
  if (now >= next_look_) {
    next_look_ = now + kLook;
    for (auto& [id, trial] : trials_) watchLogs(trial.request, trial.watch);
    TRY(tick_());
  }
  endServices(now);
  // The wait ends at the earliest moment at which some trial's watch must decide.
  double until = next_look_;
  bool all_stop = true;
  for (const auto& [id, trial] : trials_) {
    until = std::min(until, trial.watch.wakeAt());
    all_stop &= trial.watch.isStopping() || trial.hooks.over;
  }
  // An interrupt wakes the wait. Once all trials are stopping it is known, and waking for it again would only spin.
  auto reports = TRY(launcher_.events(until, all_stop && Interrupts::requested() ? -1 : Interrupts::fd()));
  for (RankReport& report : reports) {
    const auto found = trials_.find(report.trial);
    // Reports of trials that have ended, for example of killed ranks, are dropped.
    if (found == trials_.end()) continue;
    const bool told = report.what == RankReport::Said && report.rank == 0;
    const auto& progress = found->second.hooks.progress;
    using Type = protocol::Event::Type;
    const Type type = report.event.type;
    const bool fails = found->second.hooks.over && (type == Type::Failed || type == Type::Infeasible);
    if (told && progress && (type == Type::Progress || fails)) progress(report.event);
    found->second.watch.take(std::move(report));
  }
  // Trials that are over leave the map before their callbacks run, since a callback may start another trial.
  std::vector<std::map<uint64_t, Trial>::node_type> over;
  for (auto next = trials_.begin(); next != trials_.end();) {
    const auto at = next++;
    TrialWatch& watch = at->second.watch;
    const TrialHooks& hooks = at->second.hooks;
    if (Interrupts::requested() && !hooks.over) watch.interrupt();
    if (const TrialEnd* service = hooks.doomed ? hooks.doomed() : nullptr) watch.fail(service->status, service->reason);
    const TrialWatch::Next what = watch.judge(now);
    if (what == TrialWatch::Next::Ask) launcher_.stop(at->first);
    if (what == TrialWatch::Next::Kill) launcher_.kill(at->first);
    if (what == TrialWatch::Next::Ended) over.push_back(trials_.extract(at));
  }
  for (auto& node : over) {
    auto& [request, watch, hooks, told_at] = node.mapped();
    TrialEnd end = watch.end();
    // The log is read only now: it is complete once all ranks have ended.
    if (end.status == TrialStatus::Failed || end.status == TrialStatus::Timeout ||
        end.status == TrialStatus::Infeasible)
      end.log_tail = lastWords(request, watch.blamed());
    // The error line in the log is the best guess at what the process would have said.
    if (watch.endedSilently())
      if (const std::string why = files::errorLine(end.log_tail); !why.empty()) end.reason += ": " + why;
    TRY(hooks.ended(std::move(end)));
  }
  return Error::success();
}

void TrialRunner::endServices(double now) {
  for (auto& [id, trial] : trials_) {
    if (!trial.hooks.over || !trial.hooks.over()) continue;
    if (trial.told_at == 0) {
      trial.told_at = now;
      launcher_.stop(id);
    } else if (now > trial.told_at + kServiceEnds) {
      trial.watch.fail(TrialStatus::Failed, "did not end when it was told to");
    }
  }
}

Expected<TrialEnd> TrialRunner::run(const TrialRequest& request, std::function<void(const protocol::Event&)> progress,
                                    std::function<const TrialEnd*()> doomed) {
  std::optional<TrialEnd> over;
  const auto ended = [&](TrialEnd end) {
    over = std::move(end);
    return Error::success();
  };
  TRY(start(request, {.ended = ended, .progress = std::move(progress), .doomed = std::move(doomed)}));
  while (!over) TRY(attend());
  // Heat-ups, preparations and rehearsals come through here; nothing can be measured beside such a process.
  if (!over->stuck.empty()) return besideStuck(stuckText(over->stuck.front()));
  removeEmptyLogs(request);
  return std::move(*over);
}

}  // namespace expc::engine::launch
