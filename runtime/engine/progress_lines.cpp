#include <fmt/format.h>

#include "runtime/engine/progress.h"
#include "runtime/plan/printable.h"

namespace expc::engine {
namespace {

/// For logs and pipes: every line makes sense alone and nothing is drawn over.
class LineProgress : public ProgressListener {
 public:
  LineProgress(std::FILE* out, bool quiet) : out_(out), quiet_(quiet) {}

  void message(std::string_view text) override { line(text); }
  void blockStarted(plan::TrialKind kind, uint64_t number, unsigned points) override {
    if (quiet_) return;
    line(fmt::format("block {} of {} trials: {} point{}", number + 1, plan::toString(kind), points,
                     points == 1 ? "" : "s"));
  }
  void trialStarted(const TrialNote&) override {}
  void trialProgress(const TrialNote&, std::string_view, uint64_t, uint64_t) override {}
  void trialEnded(const TrialNote& trial, store::TrialStatus status, double seconds, std::string_view reason) override {
    if (quiet_ && reason.empty()) return;
    std::string text = fmt::format("[{}/{}] {}: {} in {}", trial.done + 1, trial.expected, nameText(trial),
                                   endText(trial, status), durationText(seconds));
    if (!reason.empty()) text += fmt::format(": {}", reason);
    std::string left = remainingText(trial);
    if (!left.empty()) text += fmt::format(" ({})", left);
    line(text);
  }
  void finished() override {}

 private:
  void line(std::string_view text) { plan::tell(out_, plan::printable(text) + "\n"); }

  std::FILE* out_;
  const bool quiet_;
};

}  // namespace

std::unique_ptr<ProgressListener> makeLineProgress(std::FILE* out) {
  return std::make_unique<LineProgress>(out, false);
}
std::unique_ptr<ProgressListener> makeQuietProgress(std::FILE* out) {
  return std::make_unique<LineProgress>(out, true);
}

}  // namespace expc::engine
