#pragma once

// What the store holds, as plain records; analysis and report read these and nothing else.

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/note.h"
#include "runtime/plan/plan.h"

namespace expc::store {

enum class TrialStatus {
  Running,  // started, no end seen: what a killed engine leaves behind
  Valid,
  Failed,       // worker error, nonsense, dead rank
  Timeout,      // worse than every value, in the ranks
  Infeasible,   // out of memory
  Interrupted,  // the engine stopped it or died
  Invalid       // it ran, but something disturbed it: kept and shown, repeated, and never counted
};
inline constexpr plan::Word<TrialStatus> kStatuses[] = {
    {"running", TrialStatus::Running},       {"valid", TrialStatus::Valid},
    {"failed", TrialStatus::Failed},         {"timeout", TrialStatus::Timeout},
    {"infeasible", TrialStatus::Infeasible}, {"interrupted", TrialStatus::Interrupted},
    {"invalid", TrialStatus::Invalid}};
inline std::string_view toString(TrialStatus status) { return plan::wordOf(kStatuses, status); }

/// Begins the environment class of what ran on null cards (nullgpu/), which compute nothing. The one mark by which they
/// are known: no class with it is that of a real card, so nothing of the two is ever paired.
inline constexpr std::string_view kNullClass = "null-";
inline bool isNullClass(std::string_view environment_class) {
  return environment_class.substr(0, kNullClass.size()) == kNullClass;
}

/// A point in time twice over. Only `boot` is subtracted, and only from one of the same boot of the same machine;
/// `wall` is a label for people, since anyone may set that clock.
struct Moment {
  double wall = 0;  // Unix time
  double boot = 0;  // seconds since the machine started, suspended ones included (CLOCK_BOOTTIME)
};

/// A worker program, and what its trials run on.
struct Worker {
  std::string build, environment_class;

  bool onNullCards() const { return isNullClass(environment_class); }
  auto operator<=>(const Worker&) const = default;
};

/// Where the trials of a session run.
struct SessionPlace {
  std::vector<std::string> nodes;  // by name; several: a group over which trials may spread
  std::string lane;                // "local:3" where several lanes share these nodes
  std::vector<std::string> boots;  // that must agree for it to go on: of the nodes, behind that of an engine elsewhere

  /// "node7", "n1+n2": what people call it, whichever lane it is.
  std::string machine() const { return llvm::join(nodes, "+"); }
  /// With its lane: "node7, lane local:3".
  std::string text() const { return machine() + (lane.empty() ? "" : ", lane " + lane); }
  /// Whether it is on a node, or on a group that is called so.
  bool isOn(std::string_view name) const { return std::ranges::count(nodes, name) > 0 || machine() == name; }
  bool operator==(const SessionPlace&) const = default;
};

/// One set of nodes, boots, driver and worker builds with no gap over 30 minutes. Pairs never cross sessions.
struct Session {
  int64_t id = 0;
  SessionPlace where;
  std::vector<Worker> workers;  // sorted
  std::string environment_json;
  Moment opened, last_seen;

  bool onNullCards() const { return std::ranges::any_of(workers, &Worker::onNullCards); }
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

/// What a trial measured, and with what: all that decides for which plans it counts.
struct TrialKey {
  plan::Place place;
  plan::TrialKind kind = plan::TrialKind::Timed;
  std::string settings;  // canonical JSON of the kind's settings
  std::string data;      // digest of the data, program and inputs that the point reads; "": it reads none
  /// Of a command: how each of its metrics of this kind is read, and its expectations, as digests by name. A corrected
  /// pattern makes another value.
  std::map<std::string, std::string> readings;
  std::string worker_build, environment_class;

  bool onNullCards() const { return isNullClass(environment_class); }
  auto operator<=>(const TrialKey&) const = default;
};
/// Trials of a store that agree share one.
using Key = std::shared_ptr<const TrialKey>;

/// What is known of a trial before it runs: a journal's entry `begin` holds it.
struct TrialStart {
  int64_t id = 0;
  int64_t block = 0, session = 0;
  unsigned position = 0;  // in the block's order
  unsigned attempt = 1;
  double started = 0;   // Unix time: a label, never subtracted
  double limit = 0;     // seconds that it was given at most; 0: not known (of old stores)
  int64_t run = 0;      // which started it; 0: not known (of old stores)
  std::string devices;  // JSON: the slots used; on several nodes each names its `node`
  unsigned nodes = 1;   // on which it ran

  /// For plan::JsonRecord: what a journal's entry has of it as it is.
  void describe(auto& io) {
    io.field("trial", id);
    io.field("run", run);
    io.field("session", session);
    io.field("block", block);
    io.field("position", position);
    io.field("attempt", attempt);
    io.field("limit", limit);
    io.field("started", started);
  }
};

/// The measured values of a trial; an entry `reread` replaces them. A value that is not finite diverged.
struct TrialValues {
  std::map<std::string, double> metrics;
  std::vector<std::string> not_on_device;  // metrics asked for that the worker said this device cannot give
  std::map<std::string, std::vector<double>> series;

  void describe(auto& io) {
    io.optional("absent", not_on_device);
    if (io.has("metrics", !metrics.empty()))
      io.byName("metrics", metrics, [](auto& all, auto name, double& value) { all.measured(name, value); });
    io.optional("series", series);
  }
  /// A value for a metric that the worker said its device cannot give; without one this stays so.
  void supply(const std::string& metric, std::optional<double> value) {
    if (value && std::erase(not_on_device, metric) > 0) metrics[metric] = *value;
  }
};

/// What came of it: the entry `end` holds it.
struct TrialResult : TrialValues {
  TrialStatus status = TrialStatus::Running;
  std::string reason, log_tail;
  double seconds = 0;                   // how long it took, by a clock that nobody sets
  std::string environment_json = "{}";  // what the worker said of itself
  std::vector<plan::Note> notes;

  void describe(auto& io) {
    io.field("seconds", seconds);
    io.optional("reason", reason);
    io.optional("log", log_tail);
    if (io.has("notes", !notes.empty())) plan::describeNotes(io, "notes", notes);
    TrialValues::describe(io);
  }
};

struct Trial : TrialStart, TrialResult {
  Key key;  // never null of a trial that was read from a store

  const plan::Place& place() const { return key->place; }
  bool onNullCards() const { return key->onNullCards(); }
};

/// What the trials of a run must agree in, besides point, kind and settings, for stored ones to count
/// (docs/layers/store.md).
struct Match {
  std::optional<Worker> built_in, command;  // those that the plan needs
  /// By data path as in Plan::data_paths, commandKey, or path as in preparedFilesOf.
  std::map<std::string, std::string> data_digests;

  const std::optional<Worker>& workerOf(const plan::Workload& workload) const {
    return workload.command ? command : built_in;
  }
  /// Sorted, as in Session::workers.
  std::vector<Worker> workers() const {
    std::multiset<Worker> all;
    for (const std::optional<Worker>& worker : {built_in, command})
      if (worker) all.insert(*worker);
    return {all.begin(), all.end()};
  }
  bool onNullCards() const { return std::ranges::any_of(workers(), &Worker::onNullCards); }
};

/// What the verdicts of a run are about, and how much was planned for them: what a later verdict has to know of it. It
/// stands in the entry of the run's end.
struct Judged {
  struct Planned {
    unsigned repeat = 0;
    std::vector<unsigned> looks;
    std::optional<bool> adaptive;  // whether repetitions went on until intervals were narrow; absent: not known
  };
  std::map<plan::TrialKind, Planned> planned;
  std::set<std::string> subjects;  // plan::subjectOf each cell of a criterion with a confidence
};
/// Null: what was judged is not known.
using JudgedPtr = std::shared_ptr<const Judged>;

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
inline constexpr plan::Word<Outcome::Kind> kOutcomes[] = {
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
  JudgedPtr judged;                // null while it runs, and of a run that was killed or is of an older expc
};

/// The order of a block, so that an interrupted one can be continued.
struct BlockPlan {
  Block block;
  std::string settings;             // canonical JSON of the kind's settings
  std::vector<plan::Place> places;  // in running order
};

/// A run that judged, or that was cut before it could, at what its trials and those before them had measured.
struct PastLook {
  int64_t run = 0;
  bool said = false;     // its verdicts were no provisional ones
  bool at_look = false;  // it ended at a look that was planned
  JudgedPtr judged;  // null: its end does not say so, and its plan is not read any more; it may have judged anything
  /// Subjects of the reader's claims that it judged with another version of the program, other inputs or data.
  std::set<std::string> other_programs = {};
};

/// What a reader gets: everything that counts, or might, for one plan.
struct Results {
  std::vector<Session> sessions;
  std::vector<Block> blocks;
  std::vector<Trial>
      trials;  // those that count for the plan (docs/layers/store.md), Running and Interrupted ones left out
  std::vector<PastLook> looks = {};  // of all runs in the store, by number
  uint64_t kept_not_counted = 0;     // trials of these points, or else of the study, that do not count, with why
  std::vector<std::string> not_counted_reasons;

  /// Whether these are measurements of cards that compute nothing.
  bool onNullCards() const { return std::ranges::any_of(trials, &Trial::onNullCards); }
};

}  // namespace expc::store
