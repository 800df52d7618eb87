#pragma once

// The records of a results folder as plain structs: sessions, blocks, trials, runs. Analysis and report read these
// and nothing else; journals hold them as JSON (entry.cpp).

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/note.h"
#include "runtime/plan/plan.h"

namespace expc::store {

/// How a trial ended. Only Valid, Timeout and Infeasible are results; the others are repeated.
enum class TrialStatus {
  Running,  // started, no end seen: what a killed engine leaves behind
  Valid,
  Failed,       // worker error, nonsense, dead rank
  Timeout,      // worse than every value, in the ranks
  Infeasible,   // out of memory
  Interrupted,  // the engine stopped it or died
  Invalid       // it ran, but something disturbed it: kept and shown, repeated, and never counted
};
inline constexpr base::Word<TrialStatus> kStatuses[] = {
    {"running", TrialStatus::Running},       {"valid", TrialStatus::Valid},
    {"failed", TrialStatus::Failed},         {"timeout", TrialStatus::Timeout},
    {"infeasible", TrialStatus::Infeasible}, {"interrupted", TrialStatus::Interrupted},
    {"invalid", TrialStatus::Invalid}};
inline std::string_view toString(TrialStatus status) { return base::wordOf(kStatuses, status); }
/// Whether a trial that ended so is not repeated in its block: timeouts and lack of memory are results.
inline bool hasResult(TrialStatus status) {
  return status == TrialStatus::Valid || status == TrialStatus::Timeout || status == TrialStatus::Infeasible;
}

/// Begins the environment class of null cards (nullgpu/), which compute nothing. It is their only mark: no class of
/// a real card begins with it, so trials of the two are never paired.
inline constexpr std::string_view kNullClass = "null-";
/// Whether trials with this environment class ran on null cards.
inline bool isNullClass(std::string_view environment_class) {
  return environment_class.substr(0, kNullClass.size()) == kNullClass;
}

/// One moment on two clocks. Only `boot` is subtracted, and only from one of the same boot of the same machine;
/// `wall` is a label for people, since anyone may set that clock.
struct Moment {
  double wall = 0;  // Unix time
  double boot = 0;  // seconds since the machine started, suspended ones included (CLOCK_BOOTTIME)
};

/// The build of a worker program, and the class of environment that its trials run in. Trials count together only
/// if both are equal.
struct Worker {
  std::string build, environment_class;

  bool onNullCards() const { return isNullClass(environment_class); }
  auto operator<=>(const Worker&) const = default;
};

/// The machine or machines, and the lane on them, where the trials of a session run.
struct SessionPlace {
  std::vector<std::string> nodes;  // by name; several form a group over which trials may spread
  std::string lane;                // "local:3" where several lanes share these nodes
  std::vector<std::string> boots;  // must agree for a session to go on; an engine elsewhere has its own in front

  /// The name that people use, whichever lane it is: "node7", "n1+n2".
  std::string machine() const { return llvm::join(nodes, "+"); }
  /// The machine with its lane: "node7, lane local:3".
  std::string text() const { return machine() + (lane.empty() ? "" : ", lane " + lane); }
  /// Whether it is on a node, or on a group with that name.
  bool isOn(std::string_view name) const { return std::ranges::count(nodes, name) > 0 || machine() == name; }
  bool operator==(const SessionPlace&) const = default;
};

/// A stretch of measuring under equal conditions: one set of nodes, boots, driver and worker builds, with no gap
/// over 30 minutes. Pairs never cross sessions.
struct Session {
  int64_t id = 0;
  SessionPlace where;
  std::vector<Worker> workers;  // sorted
  std::string environment_json;
  Moment opened, last_seen;

  bool onNullCards() const { return std::ranges::any_of(workers, &Worker::onNullCards); }
};

/// One randomised pass over all points, for one kind of trial.
struct Block {
  int64_t id = 0;
  std::string study;
  TrialKind kind = TrialKind::Timed;
  uint64_t number = 0;  // within study and kind
  uint64_t seed = 0;
  int64_t session = 0;
};

/// Everything that decides for which plans a trial counts: what it measured, and with what.
struct TrialKey {
  Place place;
  TrialKind kind = TrialKind::Timed;
  std::string settings;  // canonical JSON of the kind's settings
  std::string data;      // digest of the data, program and inputs that the point reads; "" if it reads none
  /// For a command: how each of its metrics of this kind is read, and its expectations, as digests by name. A
  /// corrected pattern makes another value, so such trials must be read anew.
  std::map<std::string, std::string> readings;
  std::string worker_build, environment_class;

  bool onNullCards() const { return isNullClass(environment_class); }
  auto operator<=>(const TrialKey&) const = default;
};
/// Trials of a store whose keys are equal share one object: 100,000 trials have a few hundred keys.
using Key = std::shared_ptr<const TrialKey>;

/// Everything that the engine knows of a trial before it runs; entry `begin` of a journal holds it.
struct TrialStart {
  int64_t id = 0;
  int64_t block = 0, session = 0;
  unsigned position = 0;  // in the block's order
  unsigned attempt = 1;
  double started = 0;   // Unix time: a label, never subtracted
  double limit = 0;     // seconds that it was given at most; 0: not known (old stores)
  int64_t run = 0;      // the run that started it; 0: not known (old stores)
  std::string devices;  // JSON: the slots used; on several nodes each names its `node`
  unsigned nodes = 1;   // on which it ran

  /// For JsonRecord: the members that a journal's entry holds as they are.
  void describe(auto& io) {
    io.required("trial", id, "run", run, "session", session, "block", block, "position", position, "attempt", attempt,
                "limit", limit, "started", started);
  }
};

/// Measured values. A value that is not finite has diverged.
struct Values {
  std::map<std::string, double> metrics;
  std::vector<std::string> not_on_device;  // requested metrics that the worker cannot measure on this device
  std::map<std::string, std::vector<double>> series;

  void describe(auto& io) {
    io.optional("absent", not_on_device);
    if (io.has("metrics", !metrics.empty()))
      io.byName("metrics", metrics, [](auto& all, auto name, double& value) { all.measured(name, value); });
    io.optional("series", series);
  }
  /// Takes a value for a metric that the worker could not give. Without a value the metric stays absent.
  void supply(const std::string& metric, std::optional<double> value) {
    if (value && std::erase(not_on_device, metric) > 0) metrics[metric] = *value;
  }
  /// Sets the values of a metric that was sampled, if it had none: the mean of shares, else the largest.
  void supply(const Metric& metric, const std::vector<double>& samples) {
    if (samples.empty()) return;
    if (!metric.series) {
      const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
      supply(metric.name, metric.dimension == "share" ? sum / double(samples.size()) : std::ranges::max(samples));
    } else if (std::erase(not_on_device, metric.name) > 0) {
      series[metric.name] = samples;
    }
  }
  /// Whether it says something of the metric: a value, a series, or that there is none.
  bool tellsOf(const std::string& metric) const {
    return metrics.contains(metric) || series.contains(metric) || std::ranges::count(not_on_device, metric) > 0;
  }
};

/// The measured values of a trial; an entry `reread` replaces them.
struct TrialValues : Values {
  /// The values of the rows of a process that goes through levels by itself, by plan::rowKey.
  std::map<std::string, Values> rows;

  void describe(auto& io) {
    Values::describe(io);
    if (io.has("rows", !rows.empty()))
      io.byName("rows", rows, [](auto& all, auto key, Values& row) {
        all.object(key, row, [](auto& inner, Values& one) { one.describe(inner); });
      });
  }
  bool tellsOf(const std::string& metric) const {
    return Values::tellsOf(metric) ||
           std::ranges::any_of(rows, [&](const auto& row) { return row.second.tellsOf(metric); });
  }
};

/// The result of a trial; entry `end` of a journal holds it.
struct TrialResult : TrialValues {
  TrialStatus status = TrialStatus::Running;
  std::string reason, log_tail;
  double seconds = 0;                   // its duration, by a clock that nobody sets
  std::string environment_json = "{}";  // what the worker said of itself, as JSON
  std::vector<plan::Note> notes;

  void describe(auto& io) {
    io.field("seconds", seconds);
    io.optional("reason", reason, "log", log_tail);
    if (io.has("notes", !notes.empty())) plan::describeNotes(io, "notes", notes);
    TrialValues::describe(io);
  }
};

/// One trial: its start, its result and its key. A trial whose end was not seen is Running.
struct Trial : TrialStart, TrialResult {
  Key key;  // never null in a trial that was read from a store

  /// The point or control that the trial measured.
  const Place& place() const { return key->place; }
  bool onNullCards() const { return key->onNullCards(); }
};

/// Everything in which the trials of a run must agree, besides point, kind and settings, so that stored ones count
/// (docs/layers/store.md).
struct Match {
  std::optional<Worker> built_in, command;  // those that the plan needs
  /// Digests, keyed by a data path (Plan::data_paths), by commandKey, or by a path of preparedFilesOf. A key with
  /// isPartKey only explains a difference.
  std::map<std::string, std::string> data_digests;

  /// The worker that a workload's trials need.
  const std::optional<Worker>& workerOf(const plan::Workload& workload) const {
    return workload.command ? command : built_in;
  }
  /// Both workers, sorted as Session::workers are.
  std::vector<Worker> workers() const {
    std::multiset<Worker> all;
    for (const std::optional<Worker>& worker : {built_in, command})
      if (worker) all.insert(*worker);
    return {all.begin(), all.end()};
  }
  bool onNullCards() const { return std::ranges::any_of(workers(), &Worker::onNullCards); }
};

/// The claims that a run's verdicts are about, and how much was planned for them. Later verdicts need this to count
/// looks. The entry of the run's end holds it.
struct RunClaims {
  /// The plan for one kind of trial.
  struct Planned {
    unsigned repeat = 0;
    std::vector<unsigned> looks;
    std::optional<bool> adaptive;  // whether repetitions stopped by the width of intervals; absent: not known
  };
  std::map<TrialKind, Planned> planned;
  std::set<std::string> subjects;  // plan::subjectOf each cell of a criterion with a confidence
};
/// Null: unknown.
using RunClaimsPtr = std::shared_ptr<const RunClaims>;

/// How a run ended.
struct Outcome {
  enum class Kind {
    Complete,
    AtLook,  // complete after `repetitions`, since a look had decided all
    Incomplete,
    NothingToDo,
    Interrupted,
    OutOfTime,
    BudgetSpent,
    Failed,  // stopped at the first failure
    Killed   // its writer died
  };
  using enum Kind;

  Kind kind = Killed;
  unsigned repetitions = 0;  // of AtLook; 0: not known

  /// Whether nothing was wanted any more, so that its verdicts were no provisional ones.
  bool saidVerdicts() const { return kind == Complete || kind == AtLook || kind == Incomplete || kind == NothingToDo; }
  bool operator==(const Outcome&) const = default;
};
inline constexpr base::Word<Outcome::Kind> kOutcomes[] = {
    {"complete", Outcome::Complete},         {"at look", Outcome::AtLook},          {"incomplete", Outcome::Incomplete},
    {"nothing to do", Outcome::NothingToDo}, {"interrupted", Outcome::Interrupted}, {"out of time", Outcome::OutOfTime},
    {"budget spent", Outcome::BudgetSpent},  {"failed", Outcome::Failed},           {"killed", Outcome::Killed}};

/// One execution of a plan.
struct Run {
  int64_t id = 0;
  std::string study, plan_digest, plan_json;
  int64_t session = 0;
  Match match;
  Moment started, ended;           // ended at 0: never seen to end
  std::optional<Outcome> outcome;  // absent while it runs
  RunClaimsPtr judged;             // null while it runs, and of a run that was killed or is of an older expc
};

/// A block with its order, so that an interrupted one can be continued.
struct BlockPlan {
  Block block;
  std::string settings;       // canonical JSON of the kind's settings
  std::vector<Place> places;  // in running order
};

/// A run that judged, or that ended before it could. It is a look at everything that its trials and the earlier
/// ones measured.
struct PastLook {
  int64_t run = 0;
  bool said = false;     // its verdicts were final
  bool at_look = false;  // it ended at a planned look
  RunClaimsPtr judged;  // null: its end does not say so, and its plan is not read any more; it may have judged anything
  /// Subjects of the reader's claims that it judged with another version of the program, other inputs or other
  /// data.
  std::set<std::string> other_programs = {};
};

/// Everything that counts, or might, for one plan.
struct Results {
  std::vector<Session> sessions;
  std::vector<Block> blocks;
  std::vector<Trial>
      trials;  // those that count for the plan (docs/layers/store.md), Running and Interrupted ones left out
  std::vector<PastLook> looks = {};  // of all runs in the store, by number
  uint64_t kept_not_counted = 0;     // trials of these points, or else of the study, that do not count
  std::vector<std::string> not_counted_reasons;

  /// Whether these are measurements of simulated GPUs, which compute nothing.
  bool onNullCards() const { return std::ranges::any_of(trials, &Trial::onNullCards); }
};

}  // namespace expc::store

namespace expc {
using store::Results, store::Trial, store::TrialStatus;
}
