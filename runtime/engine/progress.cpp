// The two ways to show progress on stderr: a bar that is redrawn in place, and lines for logs. Texts from studies and
// programs pass through plan::printable, so that no control character reaches the terminal.

#include "runtime/engine/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "runtime/base/clock.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"

namespace expc::engine {
namespace {

// Workers report many times a second; drawing more often than this would only cost time beside a trial.
constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr unsigned kBarCells = 24;

/// "timed precision=fp32 gpus=2", "timed trial" without a label; a rehearsal has no kind.
std::string nameText(const TrialNote& trial) {
  if (trial.point_label.empty() && !trial.rehearsal) return fmt::format("{} trial", plan::toString(trial.kind));
  return trial.rehearsal ? trial.point_label : fmt::format("{} {}", plan::toString(trial.kind), trial.point_label);
}

/// How the trial ended: "valid", "failed" and so on; for a rehearsal "runs" or "does not fit".
std::string_view endText(const TrialNote& trial, TrialStatus status) {
  if (trial.rehearsal && status == TrialStatus::Valid) return "runs";
  if (trial.rehearsal && status == TrialStatus::Infeasible) return "does not fit";
  return store::toString(status);
}

/// " in 3 s"; "" for a trial that was not started, since a service of it failed.
std::string lengthText(const char* word, double seconds) {
  return seconds > 0 ? fmt::format(" {} {}", word, durationText(seconds)) : "";
}

/// "about 3 min 20 s left"; "" when nothing is known.
std::string remainingText(const TrialNote& trial) {
  if (!trial.remaining_seconds) return "";
  return fmt::format("about {} left{}{}", durationText(*trial.remaining_seconds), trial.untimed.empty() ? "" : ", and ",
                     trial.untimed);
}

/// One line, redrawn in place; what must stay is printed above it.
class BarProgress : public ProgressListener {
 public:
  ~BarProgress() override { erase(); }

  void message(std::string_view text) override { above(text); }
  void trialStarted(const TrialNote& trial) override { draw(trial, "", 0); }
  void trialProgress(const TrialNote& trial, std::string_view phase, uint64_t done, uint64_t total) override {
    if (base::Clock::now() - drawn_ < kRedraw) return;
    std::string what = total > 0 ? fmt::format("{} {}/{}", phase, done, total) : std::string(phase);
    draw(trial, what, total > 0 ? double(done) / total : 0);
  }
  void trialEnded(const TrialNote& trial, TrialStatus status, double seconds, std::string_view reason) override {
    if (status != TrialStatus::Valid) {
      above(fmt::format("{}: {}{}: {}", nameText(trial), endText(trial, status), lengthText("after", seconds), reason));
    }
    draw(trial, "", 1);
  }
  void finished() override { erase(); }

 private:
  /// Columns of the terminal, asked anew each time, since a window may be resized; 80 if that is not known.
  unsigned width() const {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }
  void erase() {
    if (!shown_) return;
    base::tell(stderr, "\r\x1b[K");
    shown_ = false;
  }
  /// Prints a line that stays; the bar is drawn again below it with the next event.
  void above(std::string_view text) {
    erase();
    base::tell(stderr, base::printable(text) + "\n");
  }
  /// `part`: how much of the present trial is done, 0 to 1.
  void draw(const TrialNote& trial, std::string_view what, double part) {
    double share = trial.expected ? std::clamp((trial.done + part) / trial.expected, 0.0, 1.0) : 0;
    unsigned full = share * kBarCells;
    std::string left = remainingText(trial);
    std::string text = fmt::format("[{:#<{}}{:.<{}}] {}/{}{}{}  {}", "", full, "", kBarCells - full, trial.done + 1,
                                   trial.expected, left.empty() ? "" : "  ", left, nameText(trial));
    if (!what.empty()) text += fmt::format("  {}", what);
    text = base::printable(text);
    // Labels may hold any UTF-8, so cut only where a character begins: continuation bytes are 10xxxxxx. A wide
    // character counts as one column, which may leave the line short, but a line that wraps could not be redrawn.
    size_t room = width() - 1, cells = 0, end = 0;
    while (end < text.size() && cells < room) {
      ++end;
      while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
      ++cells;
    }
    base::tell(stderr, "\r" + text.substr(0, end) + "\x1b[K");
    shown_ = true;
    drawn_ = base::Clock::now();
  }

  bool shown_ = false;
  base::Clock::time_point drawn_{};
};

/// For logs and pipes: every line makes sense alone and nothing is drawn over.
class LineProgress : public ProgressListener {
 public:
  explicit LineProgress(bool quiet) : quiet_(quiet) {}

  void message(std::string_view text) override { line(text); }
  void blockStarted(TrialKind kind, uint64_t number, unsigned trials) override {
    if (quiet_) return;
    line(fmt::format("block {} ({}): {}", number + 1, plan::toString(kind), base::counted(trials, "trial")));
  }
  void trialEnded(const TrialNote& trial, TrialStatus status, double seconds, std::string_view reason) override {
    if (quiet_ && reason.empty()) return;
    std::string text = fmt::format("[{}/{}] {}: {}{}", trial.done + 1, trial.expected, nameText(trial),
                                   endText(trial, status), lengthText("in", seconds));
    if (!reason.empty()) text += fmt::format(": {}", reason);
    std::string left = remainingText(trial);
    if (!left.empty()) text += fmt::format(" ({})", left);
    line(text);
  }

 private:
  void line(std::string_view text) { base::tell(stderr, base::printable(text) + "\n"); }

  const bool quiet_;
};

}  // namespace

std::unique_ptr<ProgressListener> makeProgress(bool quiet) {
  // A dumb terminal cannot move its cursor.
  const char* terminal = std::getenv("TERM");
  const bool draws = isatty(STDERR_FILENO) && terminal && std::string_view(terminal) != "dumb";
  if (draws && !quiet) return std::make_unique<BarProgress>();
  return std::make_unique<LineProgress>(quiet);
}

}  // namespace expc::engine
