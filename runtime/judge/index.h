#pragma once

// The one view of the records that the engine, needs, judgement, limits of time and reports share: what became of each
// place of a plan in each block, with its counts kept up to date, so that a question costs what the plan is large and
// not what was ever measured.

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/stats/running_median.h"
#include "runtime/store/records.h"

namespace expc::judge {

/// One place in one block and session, whatever the number of attempts: the last valid attempt; without one the last
/// that timed out, ran out of memory, failed, or was disturbed, in this order.
struct Outcome {
  int64_t block = 0, session = 0;
  int64_t trial = 0;                    // that decided it
  int64_t run = 0;                      // of that trial
  double limit = 0;                     // seconds: of a timeout, what it met
  const std::string* reason = nullptr;  // of one that did not end well; kept by the index
  unsigned attempt = 0;
  TrialStatus status = TrialStatus::Failed;
  bool superseded = false;     // a timeout under a limit that is no longer the place's: no value, and to be run again
  bool forgiven = false;       // to be tried again: disturbed, or lost, before this run, which was told to
  bool out_of_memory = false;  // some attempt ran out of memory, whatever decided

  std::pair<int64_t, int64_t> where() const { return {block, session}; }
  bool valid() const { return status == TrialStatus::Valid; }
  /// Has a value: a valid trial, or a timeout that counts, which is worse than every value.
  bool ended() const { return valid() || (status == TrialStatus::Timeout && !superseded); }
  bool infeasible() const { return status == TrialStatus::Infeasible; }
  /// Whether it counts against the blocks that may be tried.
  bool tried() const { return !superseded && !forgiven; }
};

/// All that is known of a place for one kind of trial.
struct PlaceOutcomes : Endings {
  std::vector<Outcome> outcomes;             // by block and session; at most one each
  const json::Object* parameters = nullptr;  // of its point
  /// Values by metric of the index and outcome; infinite where the value diverged, NaN where there is none.
  std::vector<std::vector<double>> values;
  /// Values of metrics that came as series, in the same order; no vector for a metric that never did.
  std::vector<std::vector<std::shared_ptr<const std::vector<double>>>> series;
  /// For each metric that the index keeps: whether a trial said that the device cannot give it, and whether one did.
  std::vector<bool> not_on_device, measured;

  unsigned nodes = 1;                      // that a trial of it ran on
  unsigned tried = 0;                      // outcomes
  unsigned forgiven_infeasible = 0;        // blocks before a run that was told to try them again
  double given = 0;                        // what the newest trial of a known limit was given
  int64_t last_given = 0;                  // this trial
  unsigned failed_in_a_row = 0;            // trials of this run, none that ended well after them
  int64_t last_lost = 0, last_memory = 0;  // the trials of `last_reason` and `memory_reason`
  const std::string* said = nullptr;       // the reason of the last failure of this run

  /// The place in `outcomes`, or nothing.
  std::optional<size_t> find(int64_t block, int64_t session) const;
  /// Where the outcomes of a block begin, or of the next one.
  std::vector<Outcome>::const_iterator firstOf(int64_t block) const;
  /// Whether something holds of the block's outcome in some session.
  template <class Holds>
  bool anyIn(int64_t block, Holds holds) const {
    for (auto at = firstOf(block); at != outcomes.end() && at->block == block; ++at)
      if (std::invoke(holds, *at)) return true;
    return false;
  }
  bool triedIn(int64_t block) const { return anyIn(block, &Outcome::tried); }
  bool endedIn(int64_t block, int64_t session) const;
};

/// The time that a timed-out trial had at least, also where the record does not say its limit.
inline double limitMet(const Trial& trial) { return trial.limit > 0 ? trial.limit : trial.seconds; }

/// Out of memory in this many blocks is a result: infeasible (docs/layers/statistics.md).
inline constexpr unsigned kInfeasibleBlocks = 2;
/// A timeout in each of at least this many blocks is a result, once there are enough for an interval.
inline constexpr unsigned kTimeoutBlocks = 4;

inline constexpr double kDefaultTimeoutSeconds = 1800;
inline constexpr double kLeastTimeoutSeconds = 60;
inline constexpr double kTimeoutFactor = 10;

/// How a run goes about what fails, and about what was measured before.
struct RunPolicy {
  std::optional<double> timeout = std::nullopt;  // of every trial, in seconds; absent: Index::limit says what holds
  unsigned attempts = 2;                         // of one place in a block
  unsigned give_up_after = 0;                    // failed trials of a place in a row; 0: twice `attempts`
  bool retry_failed = false;  // what failed or ran out of memory before this run may be tried as often again
  bool fresh = false;         // nothing that was measured before this run counts
  /// The points of which trials may be started; absent: all.
  std::optional<std::set<std::string>> only = std::nullopt;

  unsigned giveUpAfter() const { return give_up_after > 0 ? give_up_after : 2 * std::max(1u, attempts); }
};

/// A place that failed.
struct Failure {
  TrialKind kind = TrialKind::Timed;
  Place place;
  unsigned times = 0;  // trials that failed in this run, the last ones in a row
  std::string reason;  // of the last
};

/// How the trials ended, all attempts counted.
struct Tally {
  uint64_t trials = 0, valid = 0, failed = 0, timeouts = 0, infeasible = 0, invalid = 0;

  void add(TrialStatus status);
};

/// Places that are read together, by a cell or by a control: their blocks are counted together.
struct Group {
  std::vector<unsigned> places;  // numbers, ascending
  unsigned complete = 0;         // blocks and sessions in which all of them ended
  unsigned tried = 0;            // blocks in which all of them were tried; those not complete are lost
};

/// Whether a trial's value shows that nothing counted the metric: 0 for a memory peak or processor time that the worker
/// takes itself. Older workers reported 0 where torch's allocator was off; today they report no value.
bool isUncounted(const Plan& plan, std::string_view metric, double value);

/// The index of one plan, which must outlive it. Neither the order of the trials matters nor that one comes twice.
class Index {
 public:
  /// The metrics that the index keeps of a trial. All: every metric of the plan. ForRun: all where looks are planned,
  /// else those that an `until` names.
  enum class Keep { All, ForRun };

  explicit Index(const Plan& plan, Keep keep = Keep::All);
  /// Indexes everything in `results`.
  Index(const Plan& plan, const Results& results, Keep keep = Keep::All);
  Index(const Index&) = delete;  // outcomes point to the reasons that it keeps
  Index& operator=(const Index&) = delete;

  void add(const store::Session& session);
  void add(store::PastLook look);
  /// A trial that counts for the plan. False if it changed nothing: it was there, has not ended, or is of no place of
  /// the plan.
  bool add(const Trial& trial);
  /// Whether a trial of that number was added.
  bool has(int64_t trial) const { return seen_.count(trial) != 0; }
  /// Treats trials that are added from now on as those of a run with `policy`. Without a call there is no run: the
  /// records speak for themselves, as in a report.
  void startRun(RunPolicy policy);

  const Plan& plan() const { return plan_; }
  const RunPolicy* policy() const { return policy_ ? &*policy_ : nullptr; }
  /// The outcomes of a place: a point's id, with a control's name. A place without trials has empty outcomes.
  const PlaceOutcomes& of(TrialKind kind, const Place& place) const;
  /// The point, or nothing for an id that the plan does not have.
  const Point* point(const std::string& id) const;
  /// The names of the nodes on which trials of the cell ran in these sessions; a session that was never added counts as
  /// one of its own.
  std::set<std::string> nodes(const plan::Cell& cell, const std::set<int64_t>& sessions) const;
  /// The runs of the store, by number: what they judged, or would have.
  const std::vector<store::PastLook>& looks() const { return looks_; }
  /// The answer of `find` for the kind; it is asked once, until a trial is added.
  bool decided(TrialKind kind, function_ref<bool()> find) const;
  /// Whether some trial ran on cards that compute nothing.
  bool onNullCards() const { return null_cards_; }
  const Tally& tally() const { return tally_; }

  // Places by number, for needs: points in the plan's order, then processes, then controls. A point that a process
  // measures has outcomes, with the values of its row and of the process; trials are those of the process.
  size_t places() const { return places_.size(); }
  const Place& place(unsigned number) const { return places_[number].place; }
  std::optional<unsigned> number(const Place& place) const;
  const PlaceOutcomes& of(TrialKind kind, unsigned number) const { return state(kind).places[number]; }
  /// The number of the place whose trials measure this one: its process, or itself.
  unsigned starts(unsigned number) const { return places_[number].starts; }
  /// The places that trials of a process measure; none for others.
  const std::vector<unsigned>& rowsOf(unsigned number) const { return places_[number].rows; }
  const std::vector<Group>& groups(TrialKind kind) const { return state(kind).groups; }
  /// Whether trials of that kind are of it: those of a control are not where the kind has none beside it.
  bool runs(TrialKind kind, unsigned number) const;
  /// Whether more trials of a place would say the same: it ran out of memory often enough to call it infeasible, or
  /// only timed out, in so many blocks that the plan's claims are decided by that.
  bool settled(TrialKind kind, const PlaceOutcomes& place) const;
  /// Whether trials of the place are asked for: it can run here, is not left out of this run, and is not settled.
  bool asked(TrialKind kind, unsigned number) const;
  /// Whether the place failed so often in a row that this run starts no further trial of it.
  bool givenUp(TrialKind kind, unsigned number) const;

  /// Where a metric's values are in PlaceOutcomes, if they are kept.
  std::optional<unsigned> column(const std::string& metric) const;
  const std::map<std::string, unsigned, std::less<>>& columns() const { return columns_; }
  /// Whether the place's trials said that the device cannot give this metric, and none gave it; of a place whose trials
  /// say nothing, whether those of all places did. A timeout is then no value either.
  bool notOnDevice(const PlaceOutcomes& place, const std::string& metric) const;
  /// Whether any trial said so of any metric.
  bool lacksOnDevice() const { return lacks_on_device_; }

  // How failures are met.
  /// Places that failed so often in a row that this run gave them up.
  std::vector<Failure> givenUp() const;
  /// The first place of this run that used up the attempts of its block.
  const std::optional<Failure>& firstFailedForGood() const { return failed_for_good_; }
  /// Whether the place failed in this run before, last with the same reason: asked before the trial is added.
  bool failedAsBefore(const Trial& trial) const;
  /// Whether trials of the kind failed, were disturbed or timed out, and none ever ended in another way. Timeouts alone
  /// count once there are kTimeoutBlocks of them, and not where a criterion compares no points, which they decide.
  bool onlyLost(TrialKind kind) const;
  unsigned timeouts(TrialKind kind) const { return state(kind).timeouts; }

  // How long trials take.
  /// What all of them took, of whatever run and end.
  double spentSeconds() const { return spent_seconds_; }
  /// How long a trial may take before it is a timeout: what the run was asked for, else the `timeout` of the command.
  /// Without these ten times the longest valid trial of the point, in steps of 1, 2, 4 … minutes; for a point that was
  /// not measured half an hour, or ten times the longest valid trial of the kind in steps of 0.5, 1, 2 … hours.
  double limit(TrialKind kind, const std::string& point) const;
  /// The median duration of the point's valid trials; without any, the median of the other points' medians; nothing if
  /// there is none.
  std::optional<double> typicalSeconds(TrialKind kind, const std::string& point) const;
  /// The mean of this over the points that can be started: what a trial of a block costs.
  std::optional<double> typicalSeconds(TrialKind kind) const;

 private:
  friend std::vector<UntilState> untilStates(const Index& index, TrialKind kind);

  struct Numbered {
    Place place;
    const Point* point = nullptr;
    unsigned unit = 0;    // the index of what its trials are of, in vectors by unit
    unsigned starts = 0;  // the number of the place of which trials are started
    std::vector<unsigned> rows = {};
  };
  /// All of one kind of trial.
  struct State {
    std::vector<PlaceOutcomes> places;
    std::vector<Group> groups;
    std::vector<std::vector<unsigned>> groups_of;  // by place
    std::vector<stats::RunningMedian> seconds;     // of valid trials, by unit
    std::vector<double> longest, within;           // by unit: of valid trials; no more than the limit they had
    double longest_of_any = 0;
    unsigned failed = 0, timeouts = 0, ended_otherwise = 0;  // trials; of those that failed also the disturbed ones
  };

  State& state(TrialKind kind) { return states_[size_t(kind)]; }
  const State& state(TrialKind kind) const { return states_[size_t(kind)]; }
  void addPlaces();
  unsigned addPlace(Place place, const Point& point, unsigned unit);
  void chooseColumns(Keep keep);
  void addGroups(TrialKind kind);
  void clear();
  /// Adds a row of a process's trial.
  void addRow(State& own, unsigned number, const Trial& trial, const std::string* reason);
  void noteDevice(PlaceOutcomes& place, const Trial& trial, const store::Values* row);
  void noteFailure(unsigned number, PlaceOutcomes& place, const Trial& trial, const std::string* reason);
  void noteSeconds(TrialKind kind, unsigned number, const Trial& trial);
  static size_t outcomeOf(PlaceOutcomes& place, int64_t block, int64_t session);
  void noteGiven(PlaceOutcomes& place, const Trial& trial);
  void merge(State& state, unsigned number, const Trial& trial, const std::string* reason, const store::Values* row);
  static void countGroups(State& state, unsigned number, const Outcome& outcome, bool was_tried, bool had_ended);
  void keepValues(PlaceOutcomes& place, size_t at, const Trial& trial, const store::Values* row);
  void noteValid(TrialKind kind, unsigned number, const Trial& trial);
  double limit(TrialKind kind, unsigned number) const;
  double leastLimit(TrialKind kind, unsigned number) const;
  /// Looks again at which timeouts of a place count, after the limit has moved.
  void settleTimeouts(TrialKind kind, unsigned number);
  void recount(State& state, unsigned number);
  void recount(State& state, Group& group);

  const Plan& plan_;
  std::optional<RunPolicy> policy_;
  std::map<std::string, unsigned, std::less<>> points_;  // numbers of points and processes
  size_t units_ = 0;
  std::vector<Numbered> places_;
  std::map<Place, unsigned> numbers_;
  std::map<std::string, unsigned, std::less<>> columns_;
  std::vector<bool> not_on_device_, measured_;  // by column, of all places
  std::array<State, 3> states_;
  std::map<int64_t, std::vector<std::string>> nodes_;  // of sessions
  std::unordered_set<int64_t> seen_;
  std::set<std::string> reasons_;
  std::optional<Failure> failed_for_good_;
  /// The result of untilStates since the last trial was added; it is asked several times at the end of a block.
  mutable std::array<std::optional<std::vector<UntilState>>, 3> widths_;
  mutable std::array<std::optional<bool>, 3> decided_;  // in the same way
  std::vector<store::PastLook> looks_;
  Tally tally_;
  double spent_seconds_ = 0;
  bool null_cards_ = false, lacks_on_device_ = false;
};

/// Whether trials of `kind` have controls beside them.
bool hasControls(const Plan& plan, TrialKind kind);

}  // namespace expc::judge
