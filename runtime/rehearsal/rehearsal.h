#pragma once

// Results of rehearsals of a study, and the file that keeps them: RESULTS/rehearsals/STUDY.json,
// "expc.rehearsal/1". A rehearsal runs a few steps of each point on simulated GPUs. Nothing in the file is a
// measurement, so it is never part of the store. It also bounds the time of a step from below (leastStep).

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/plan.h"
#include "runtime/protocol/trial.h"

namespace expc::rehearsal {

/// The outcome of rehearsing a point. LacksData: it ran with made-up data, but a run would be refused for lack of
/// data.
enum class Outcome { Runs, LacksData, Failed, DoesNotFit, NotRehearsed };
/// "runs", "lacks data", "failed", "does not fit", "not rehearsed".
std::string_view toString(Outcome outcome);

/// Simulated GPUs.
struct Cards {
  unsigned count = 0;
  uint64_t memory = 0;  // bytes of each
  bool operator==(const Cards&) const = default;
};

/// The result of the last rehearsal of a point.
struct Point {
  std::string point;  // its id
  std::string label;  // "precision=fp32 gpus=2"
  Outcome outcome = Outcome::NotRehearsed;
  std::string reason;                            // one line; "" if the point runs
  std::optional<protocol::Rehearsed> rehearsed;  // set if the point runs or lacks data, and only then
  std::map<std::string, double> estimates;       // predicted bytes, by the metric's name, as the plan states them
  Cards cards;                                   // those that were there; the point may use fewer
  std::string worker_build;                      // "" if no worker was asked
  double at = 0;                                 // Unix time
  double seconds = 0;                            // from the launch to the end
  std::vector<plan::Note> notes;                 // messages of the worker
};

/// All rehearsals of a study.
struct Study {
  std::string study;
  std::vector<Point> points;  // each id once

  /// The rehearsal of a point, or null.
  const Point* find(std::string_view point) const;
  /// Adds a point, or replaces what was known of it.
  void put(Point point);
};

/// The content of the file.
json::Value toJson(const Study& study);
/// Reads it strictly: the error is one line with the path of the wrong member. No input crashes it.
Expected<Study> studyFromJson(const json::Value& value);

/// The folder of these files, below a results folder.
std::string folderOf(const std::string& results);
/// "RESULTS/rehearsals/STUDY.json". The error says why a study's name cannot be a file's name.
Expected<std::string> pathOf(const std::string& results, const std::string& study);

/// Reads the file of a study; a study without one has no points. The error names the file and says what to do.
Expected<Study> read(const std::string& results, const std::string& study);
/// Writes the file of `study.study`, whole or not at all. The folder must exist.
Error write(const std::string& results, const Study& study);

// The least time of a step: what its operators compute and move, over the most that the system's devices can do. It
// is a lower bound, not a prediction. Everything is assumed to overlap with everything else, and operators without
// a known shape or rate cost nothing.

/// The resource that limits a step.
enum class Limit { Products, Memory, Link, HostLink };
/// "products", "memory", "link", "host link".
std::string_view toString(Limit limit);

/// A lower bound of a step's time.
struct LeastTime {
  double seconds = 0;
  Limit limit = Limit::Products;  // the slowest resource
};

/// The least time of one step of a point on `devices` devices in all, for the slowest rank. Nothing if no rate is
/// known of anything that the step does. Memory: `RehearsedRank::memory_bytes` over the bandwidth. Link: a rank
/// sends or receives (N-1)/N of what an all-gather, reduce-scatter or all-to-all of N ranks ends or begins with,
/// and all of what it reduces or broadcasts, whatever the algorithm, in-network reduction included (the bounds of
/// Chan et al., Collective communication: theory, practice, and experience, 2007).
std::optional<LeastTime> leastStep(const protocol::Rehearsed& rehearsed, unsigned devices, const plan::Rates& rates);

/// The least time of all steps of a plan, in seconds of one device: of the points that were rehearsed. Trials that
/// count in epochs count where the data was there. Nothing if no point has a bound.
std::optional<double> leastDeviceSeconds(const Plan& plan, const Study& study);

}  // namespace expc::rehearsal
