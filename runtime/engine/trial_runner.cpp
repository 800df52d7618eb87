#include "runtime/engine/trial_runner.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/failure.h"
#include "runtime/engine/rank_process.h"
#include "runtime/files/files.h"
#include "runtime/plan/command.h"

namespace expc::engine {
namespace {

using store::TrialStatus;

constexpr double kTick = 1;

uint64_t sizeOf(const std::string& path) {
  struct stat state{};
  return stat(path.c_str(), &state) == 0 ? state.st_size : UINT64_MAX;
}

/// The end of a rank's log. A command that was killed has written none: then of what its program wrote.
std::string lastWords(const TrialRequest& request, unsigned rank) {
  std::string tail = files::lastWords(request.log(rank));
  if (!request.spec.command) return tail;
  for (const char* output : {plan::kErrors, plan::kOutput})
    if (tail.empty()) tail = files::lastWords(plan::outputOf(request.spec.folder, output, rank));
  return tail;
}

}  // namespace

void watchLogs(const TrialRequest& request, TrialWatch& watch) {
  for (unsigned rank = 0; rank < request.spec.world_size; ++rank) {
    const uint64_t size = sizeOf(request.log(rank));
    if (size != UINT64_MAX && size > request.spec.log_limit) watch.flooded(rank);
  }
}

llvm::Error besideStuck(const std::string& who) {
  return base::failure(
      "{}, was killed and does not die: no trial is measured beside it. Once it is gone (a restart of the "
      "machine ends it for sure) the same command continues; what was measured is kept",
      who);
}

TrialEnd finishTrial(const TrialRequest& request, TrialWatch& watch) {
  TrialEnd end = watch.end();
  const bool wants_log =
      end.status == TrialStatus::Failed || end.status == TrialStatus::Timeout || end.status == TrialStatus::Infeasible;
  if (wants_log) end.log_tail = lastWords(request, watch.blamed());
  return end;
}

void removeEmptyLogs(const TrialRequest& request) {
  for (unsigned rank = 0; rank < request.spec.world_size; ++rank)
    if (sizeOf(request.log(rank)) == 0) unlink(request.log(rank).c_str());
}

llvm::Expected<TrialEnd> runTrial(Launcher& launcher, const Interrupts& interrupts, const TrialRequest& request,
                                  const TrialHooks& hooks, const Clock& clock) {
  const double begin = clock.boot();
  auto trial = launcher.start(request);
  if (!trial) {
    if (!interrupts.requested()) return trial.takeError();
    llvm::consumeError(trial.takeError());
    TrialEnd none;
    none.status = TrialStatus::Interrupted;
    none.reason = "interrupted by the user";
    return none;
  }
  TrialWatch watch(request, begin);
  const auto abandon = [&](llvm::Error error) {
    launcher.kill(*trial);
    return error;
  };
  for (double next_tick = begin;;) {
    const double now = clock.boot();
    if (now >= next_tick) {
      next_tick = now + kTick;
      watchLogs(request, watch);
      if (hooks.tick)
        if (auto error = hooks.tick()) return abandon(std::move(error));
    }
    auto reports = launcher.events(std::min(watch.wakeAt(), next_tick), watch.isStopping() ? -1 : interrupts.fd());
    if (!reports) return abandon(reports.takeError());
    for (RankReport& report : *reports) {
      if (report.trial != *trial) continue;
      if (!report.stuck.empty()) return abandon(besideStuck(stuckText(report.stuck.front())));
      const bool told = report.what == RankReport::What::Said && report.rank == 0;
      if (told && report.event.type == plan::Event::Type::Progress && hooks.progress) hooks.progress(report.event);
      watch.take(std::move(report));
    }
    if (interrupts.requested()) watch.interrupt();
    const TrialWatch::Next next = watch.judge(now);
    if (next == TrialWatch::Next::Kill) launcher.kill(*trial);
    if (next != TrialWatch::Next::Ended) continue;
    TrialEnd end = finishTrial(request, watch);
    removeEmptyLogs(request);
    return end;
  }
}

}  // namespace expc::engine
