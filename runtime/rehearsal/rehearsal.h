#pragma once

// What rehearsals of a study saw, and the file that keeps it: RESULTS/rehearsals/STUDY.json, "expc.rehearsal/1". Never
// part of the store: nothing of it is a measurement.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/plan/trial.h"

namespace expc::rehearsal {

/// A point that lacks data ran with made-up data in its place; a run would be refused.
enum class Outcome { Runs, LacksData, Failed, DoesNotFit, NotRehearsed };
/// "runs", "lacks data", "failed", "does not fit", "not rehearsed".
std::string_view toString(Outcome outcome);

struct Cards {
  unsigned count = 0;
  uint64_t memory = 0;  // bytes of each
  bool operator==(const Cards&) const = default;
};

/// What the last rehearsal of a point saw.
struct Point {
  std::string point;  // its id
  std::string label;  // "precision=fp32 gpus=2"
  Outcome outcome = Outcome::NotRehearsed;
  std::string reason;                        // one line; "" of a point that runs
  std::optional<plan::Rehearsed> rehearsed;  // of a point that runs or lacks data, and of no other
  std::map<std::string, double> estimates;   // bytes by the metric's name, as the plan foretold them
  Cards cards;                               // there were so many; the point may take fewer
  std::string worker_build;                  // "" where no worker was asked
  double at = 0;                             // Unix time
  double seconds = 0;                        // from the launch to the end
  std::vector<plan::Note> notes;             // what the worker had to say
};

struct Study {
  std::string study;
  std::vector<Point> points;  // each id once

  const Point* find(std::string_view point) const;
  /// In the place of what was known of the point.
  void put(Point point);
};

llvm::json::Value toJson(const Study& study);
/// Strict: the error is one line with the path of what is wrong. No input crashes it.
llvm::Expected<Study> studyFromJson(const llvm::json::Value& value);

/// The folder of these files.
std::string folderOf(const std::string& results);
/// "RESULTS/rehearsals/STUDY.json". The error is about a name that is none of a file in that folder.
llvm::Expected<std::string> pathOf(const std::string& results, const std::string& study);

/// What is kept of a study; one without points where nothing is. The error names the file and the way out.
llvm::Expected<Study> read(const std::string& results, const std::string& study);
/// Writes the file of `study.study`, whole or not at all. The folder must be there.
llvm::Error write(const std::string& results, const Study& study);

// How long a step takes at least: what its operators compute and move, over the most that the system's devices can do.
// It is no prediction. Everything is taken to overlap with everything else, and what has no shape or no rate costs
// nothing.

/// What a bound comes from.
enum class Limit { Products, Memory, Link, HostLink };
/// "products", "memory", "link", "host link".
std::string_view toString(Limit limit);

struct LeastTime {
  double seconds = 0;
  Limit limit = Limit::Products;  // the slowest of them
};

/// The least time of one step of a point on `devices` devices in all, of the slowest rank. Nothing where no rate is
/// known of anything that the step does.
/// Memory: `RehearsedRank::memory_bytes` over the bandwidth. Link: a rank sends or receives (N-1)/N of what an
/// all-gather, reduce-scatter or all-to-all of N ranks ends or begins with, and all of what it reduces or broadcasts,
/// whatever the algorithm, in-network reduction included (the bounds of Chan et al., Collective communication: theory,
/// practice, and experience, 2007).
std::optional<LeastTime> leastStep(const plan::Rehearsed& rehearsed, unsigned devices, const plan::Rates& rates);

/// What the steps of a plan take at least, in seconds of one device: of all trials with a stated number of steps of
/// the points that were rehearsed. Nothing where no point has a bound.
std::optional<double> leastDeviceSeconds(const plan::Plan& plan, const Study& study);

}  // namespace expc::rehearsal
