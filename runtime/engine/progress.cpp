#include "runtime/engine/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace expc::engine {
namespace {

class SilentProgress : public ProgressListener {
 public:
  void message(std::string_view) override {}
  void blockStarted(plan::TrialKind, uint64_t, unsigned) override {}
  void trialStarted(const TrialNote&) override {}
  void trialProgress(const TrialNote&, std::string_view, uint64_t, uint64_t) override {}
  void trialEnded(const TrialNote&, store::TrialStatus, double, std::string_view) override {}
  void finished() override {}
};

}  // namespace

std::unique_ptr<ProgressListener> makeSilentProgress() { return std::make_unique<SilentProgress>(); }

std::unique_ptr<ProgressListener> makeProgress(bool quiet) {
  if (quiet) return makeQuietProgress(stderr);
  const char* terminal = std::getenv("TERM");
  bool draws = isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb";
  return draws ? makeBarProgress(stderr) : makeLineProgress(stderr);
}

std::string nameText(const TrialNote& trial) {
  return trial.rehearsal ? trial.point_label : fmt::format("{} {}", plan::toString(trial.kind), trial.point_label);
}

std::string_view endText(const TrialNote& trial, store::TrialStatus status) {
  if (trial.rehearsal && status == store::TrialStatus::Valid) return "runs";
  if (trial.rehearsal && status == store::TrialStatus::Infeasible) return "does not fit";
  return store::toString(status);
}

std::string remainingText(const TrialNote& trial) {
  if (!trial.remaining_seconds) return "";
  return fmt::format("about {} left{}{}", durationText(*trial.remaining_seconds), trial.untimed.empty() ? "" : ", and ",
                     trial.untimed);
}

}  // namespace expc::engine
