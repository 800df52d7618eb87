#pragma once

// A part of what a store holds of a study: one machine, one build, one time. What two of them say can be compared.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/store/store.h"

namespace expc::store {

struct Part {
  std::optional<std::string> host;
  std::optional<int64_t> run;
  std::optional<std::string> build;     // how the worker's build begins
  std::optional<std::string> program;   // how a digest of the program or its data begins
  std::optional<double> since, before;  // Unix time of the start

  /// Whether a trial is of that run and of that time.
  bool has(const Trial& trial) const {
    return (!run || trial.run == *run) && (!since || trial.started >= *since) && (!before || trial.started < *before);
  }
};

struct PartResults {
  Results results;
  /// The plan of the run that they count for, where it is of the same study as the one asked about: what that machine
  /// could run and what not. Absent: the study was another one then, or is not read any more.
  std::optional<plan::Plan> plan;
};

/// What counts for the newest run of the study that is of this part, and was measured in it; nothing where no run is.
/// What ran on null cards only where nothing else did.
std::optional<PartResults> loadPart(const Store& store, const plan::Plan& plan, const Part& part);

/// Everything that a store holds of a plan's points, whether it counts or not: what an export writes.
struct History {
  std::vector<Trial> trials;  // those that ended, by whatever key; by id
  std::map<int64_t, Block> blocks;
  std::map<int64_t, Session> sessions;
};

/// Every trial of the plan's points that has ended, and is of the part, with its block and session.
History history(const Store& store, const plan::Plan& plan, const Part& part = {});

}  // namespace expc::store
