#pragma once

// What a run tells while it goes on, and the two ways to show it.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/numbers.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

struct TrialNote {
  std::string point_label;  // "precision=fp32 gpus=2"
  plan::TrialKind kind = plan::TrialKind::Timed;
  unsigned done = 0;                        // trials of this run that ended before it
  unsigned expected = 0;                    // trials that this run is expected to need, this one included
  std::optional<double> remaining_seconds;  // from medians of past durations; absent: nothing known yet
  std::string untimed;                      // trials that come on top, since none was ever timed: "6 quality trials"
  bool rehearsal = false;                   // not a trial that counts, of whatever kind
};

/// Hears all and shows nothing.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  /// A line the user should see: a stale lease, a new session, what is reused.
  virtual void message(std::string_view /*text*/) {}
  template <typename... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    message(fmt::format(text, std::forward<Args>(args)...));
  }
  virtual void blockStarted(plan::TrialKind /*kind*/, uint64_t /*number*/, unsigned /*points*/) {}
  virtual void trialStarted(const TrialNote&) {}
  /// The worker's own progress within the trial; may come often.
  virtual void trialProgress(const TrialNote&, std::string_view /*phase*/, uint64_t /*done*/, uint64_t /*total*/) {}
  virtual void trialEnded(const TrialNote&, store::TrialStatus, double /*seconds*/, std::string_view /*reason*/) {}
  /// Nothing more will come.
  virtual void finished() {}
};

/// On stderr: where that is a terminal a bar with the time left, redrawn in place; else a line for each event, for
/// logs. Quiet: a line for what the user should see and for each trial that has a reason for how it ended.
std::unique_ptr<ProgressListener> makeProgress(bool quiet);

using base::durationText;

}  // namespace expc::engine
