#pragma once

// What a run tells while it goes on, and the two ways to show it.

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/analysis/format.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

struct TrialNote {
  int64_t trial = 0;
  std::string point_label;  // "precision=fp32 gpus=2"
  plan::TrialKind kind = plan::TrialKind::Timed;
  uint64_t block = 0;  // number within its kind
  unsigned attempt = 1;
  unsigned done = 0;                        // trials of this run that ended before it
  unsigned expected = 0;                    // trials that this run is expected to need, this one included
  std::optional<double> remaining_seconds;  // from medians of past durations; absent: nothing known yet
  std::string untimed;                      // trials that come on top, since none was ever timed: "6 quality trials"
  bool rehearsal = false;                   // not a trial that counts, of whatever kind
};

class ProgressListener {
 public:
  virtual ~ProgressListener() = default;
  /// A line the user should see: a stale lease, a new session, what is reused.
  virtual void message(std::string_view text) = 0;
  virtual void blockStarted(plan::TrialKind kind, uint64_t number, unsigned points) = 0;
  virtual void trialStarted(const TrialNote& trial) = 0;
  /// The worker's own progress within the trial; may come often.
  virtual void trialProgress(const TrialNote& trial, std::string_view phase, uint64_t done, uint64_t total) = 0;
  virtual void trialEnded(const TrialNote& trial, store::TrialStatus status, double seconds,
                          std::string_view reason) = 0;
  /// Nothing more will come.
  virtual void finished() = 0;
};

/// A bar with the time left, redrawn in place; for a terminal.
std::unique_ptr<ProgressListener> makeBarProgress(std::FILE* out);
/// A line for each event; for logs.
std::unique_ptr<ProgressListener> makeLineProgress(std::FILE* out);
/// A line for what the user should see and for each trial that has a reason for how it ended.
std::unique_ptr<ProgressListener> makeQuietProgress(std::FILE* out);
/// Nothing at all.
std::unique_ptr<ProgressListener> makeSilentProgress();
/// On stderr: the bar if that is a terminal, else lines; little of both where that is asked for.
std::unique_ptr<ProgressListener> makeProgress(bool quiet);

/// "about 3 min 20 s left", "at least 12 s left"; "" when nothing is known.
std::string remainingText(const TrialNote& trial);

/// "timed precision=fp32 gpus=2", or without the kind of a rehearsal.
std::string nameText(const TrialNote& trial);
/// How it ended: "valid"; "runs" or "does not fit" of a rehearsal.
std::string_view endText(const TrialNote& trial, store::TrialStatus status);

using analysis::durationText;

}  // namespace expc::engine
