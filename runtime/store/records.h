#pragma once

// What the store holds, as plain records; analysis and report read these and nothing else.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::store {

enum class TrialStatus {
  Running,  // started, no end seen: what a killed engine leaves behind
  Valid,
  Failed,      // worker error, nonsense, dead rank
  Timeout,     // worse than every value, in the ranks
  Infeasible,  // out of memory
  Interrupted  // the engine stopped it or died
};
std::string_view toString(TrialStatus status);

/// Begins the environment class of what ran on null cards (nullgpu/), which compute nothing. The one mark by which they
/// are known: no class with it is that of a real card, so nothing of the two is ever paired.
inline constexpr std::string_view kNullClass = "null-";
inline bool isNullClass(std::string_view environment_class) {
  return environment_class.substr(0, kNullClass.size()) == kNullClass;
}

/// One set of nodes, boots, driver and worker build with no gap over 30 minutes. Pairs never cross sessions.
struct Session {
  int64_t id = 0;
  std::string host, boot_id, environment_class, worker_build;
  std::string environment_json;
  double opened = 0, last_seen = 0;  // Unix time

  bool onNullCards() const { return isNullClass(environment_class); }
};

/// One randomised complete block of one kind of trial.
struct Block {
  int64_t id = 0;
  std::string study;
  plan::TrialKind kind = plan::TrialKind::Timed;
  uint64_t number = 0;  // within study and kind
  uint64_t seed = 0;
  int64_t session = 0;
};

/// How a block names what it runs: the point, and of a control its name behind a '#'.
inline std::string placeOf(const std::string& point, const std::string& label) {
  return label.empty() ? point : point + "#" + label;
}
struct PlaceParts {
  std::string point, label;
};
inline PlaceParts partsOf(const std::string& place) {
  const size_t mark = place.find('#');
  if (mark == std::string::npos) return {place, ""};
  return {place.substr(0, mark), place.substr(mark + 1)};
}

struct Trial {
  int64_t id = 0;
  std::string point;
  std::string label;  // "", or the name of the control that it is a trial of
  plan::TrialKind kind = plan::TrialKind::Timed;
  std::string settings;  // canonical JSON of the kind's settings
  int64_t block = 0, session = 0;
  unsigned position = 0;  // in the block's order
  unsigned attempt = 1;
  TrialStatus status = TrialStatus::Running;
  std::string reason, log_tail;
  double started = 0, ended = 0;  // Unix time
  std::string environment_class, worker_build, data_digest;
  std::string devices;  // JSON: the slots used
  std::map<std::string, double> metrics;
  std::vector<std::string> not_on_device;  // metrics asked for that the worker said this device cannot give
  std::map<std::string, std::vector<double>> series;
  std::string environment_json;  // what the worker said of itself
  std::vector<std::string> notes;

  std::string place() const { return placeOf(point, label); }
  bool onNullCards() const { return isNullClass(environment_class); }
};

/// What a reader gets: everything that counts, or might, for one plan.
struct Results {
  std::vector<Session> sessions;
  std::vector<Block> blocks;
  std::vector<Trial> trials;      // those that count for the plan (DESIGN §3), Running and Interrupted ones left out
  uint64_t kept_not_counted = 0;  // trials of these points that do not count, with why
  std::vector<std::string> not_counted_reasons;

  /// Whether these are measurements of cards that compute nothing.
  bool onNullCards() const {
    return std::any_of(trials.begin(), trials.end(), [](const Trial& trial) { return trial.onNullCards(); });
  }
};

}  // namespace expc::store
