#pragma once

// Progress of a run for the person who started it: the events that a listener hears, and two listeners for stderr.
// Listeners are called from the thread of the run and must return soon, since trials are attended to in between.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// A trial as progress shows it, with a forecast of the rest of the run.
struct TrialNote {
  std::string point_label;  // "precision=fp32 gpus=2"
  TrialKind kind = TrialKind::Timed;
  unsigned done = 0;                        // trials of this run that ended before it
  unsigned expected = 0;                    // trials that this run is expected to need, this one included
  std::optional<double> remaining_seconds;  // from medians of past durations; absent: nothing known yet
  std::string untimed;                      // trials of unknown duration, besides remaining_seconds: "6 quality trials"
  bool rehearsal = false;                   // a rehearsal, which has no kind and is not stored
};

/// Hears the events of a run and shows nothing; the base of listeners that show something.
class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  /// A line the user should see: a stale lease, a new session, what is reused.
  virtual void message(std::string_view /*text*/) {}
  template <typename... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    message(fmt::format(text, std::forward<Args>(args)...));
  }
  /// A block begins, or goes on from an earlier run. `number` counts from 0 within the kind.
  virtual void blockStarted(TrialKind /*kind*/, uint64_t /*number*/, unsigned /*trials*/) {}
  /// A trial begins. Another one may be under way in another lane.
  virtual void trialStarted(const TrialNote&) {}
  /// The worker's own progress within the trial; may come often.
  virtual void trialProgress(const TrialNote&, std::string_view /*phase*/, uint64_t /*done*/, uint64_t /*total*/) {}
  /// A trial ended and is stored. `reason`: why it did not end well, "" for a valid trial.
  virtual void trialEnded(const TrialNote&, TrialStatus, double /*seconds*/, std::string_view /*reason*/) {}
  /// Nothing more will come; may be called more than once.
  virtual void finished() {}
};

/// Shows progress on stderr. On a terminal that is a bar with the time left, redrawn in place; else one line per event,
/// for logs. `quiet`: only messages, and trials that have a reason for how they ended.
std::unique_ptr<ProgressListener> makeProgress(bool quiet);

using base::durationText;

}  // namespace expc::engine
