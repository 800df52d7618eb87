#pragma once

// Decides what runs next in each lane, and how much is left. Everything here is a function of the index and of the
// blocks under way: it starts nothing, reads no clock and no file, so tests need no process.
//
// Two rules hold. Trials of one block run one after the other in one lane, so that nothing comes between two that are
// compared. Kinds never mix: all timed blocks come before quality and profile blocks.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/engine/progress.h"
#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// The next step of a lane. Which fields are set depends on `what`.
struct Step {
  /// Kinds of step.
  enum class What {
    Trial,      // run `place` of the lane's block, at `position`, for the `attempt`-th time
    BlockOver,  // the lane's block has no further place to run; told once
    Block,      // make a block of `kind` with these places, then call Scheduler::begin
    Wait,       // nothing now: blocks of other lanes may ask for more when they are over
    Done        // nothing more for this lane
  } what = What::Done;
  using enum What;
  Place place;
  unsigned position = 0, attempt = 1;
  TrialKind kind = TrialKind::Timed;
  std::vector<Place> places;
};

/// Knows the block of each lane and what was tried in it. Each lane has at most one block at a time.
class Scheduler {
 public:
  /// The index must outlive it, and must hold each trial before ended() is told of it. `attempts`: how often a failed
  /// place is tried in one block, at least 1.
  Scheduler(const judge::Index& index, unsigned lanes, unsigned attempts);

  /// The lane's next step. Calling it again without begin() or ended() in between gives the same trial.
  Step next(unsigned lane);
  /// Gives the lane a block to work on. `before`: trials of the block that an earlier run started; their places are not
  /// run again if they have a result.
  void begin(unsigned lane, store::BlockPlan block, const std::vector<Trial>& before = {});
  /// Takes the end of a trial of the lane's block.
  void ended(unsigned lane, const Trial& trial);
  /// Leaves the lane's block as it is; next() will make another one.
  void abandon(unsigned lane) { lanes_[lane].block.reset(); }
  /// Asks for no further block of the kind. Blocks under way go on.
  void close(TrialKind kind) { closed_.insert(kind); }

  /// The lane's block, or nothing.
  const store::BlockPlan* block(unsigned lane) const;
  /// Whether a block still has something to run, after these trials of it.
  bool isOpen(const store::BlockPlan& block, const std::vector<Trial>& before) const;

 private:
  /// The attempts at one position of a block, by how they ended.
  struct Tried {
    unsigned attempts = 0, failed = 0, invalid = 0;
    bool over = false;  // it has a result, which may be a timeout or out of memory
  };
  struct Lane {
    std::optional<store::BlockPlan> block;
    unsigned position = 0;
    std::vector<Tried> tried;  // by position
  };

  static void count(Tried& tried, const Trial& trial);
  std::vector<Tried> triedOf(const store::BlockPlan& block, const std::vector<Trial>& before) const;
  bool isOver(const store::BlockPlan& block, unsigned position, const Tried& tried) const;
  /// The first kind that needs a block; Wait if that depends on blocks under way; Done.
  Step nextBlock() const;

  const judge::Index& index_;
  const unsigned attempts_;
  std::vector<Lane> lanes_;
  std::set<TrialKind> closed_;
};

/// Whether any kind still lacks trials.
bool needsTrials(const judge::Index& index);

/// The seed of a block, for its order, initial weights, data order and dropout. It is below 2^53, so that any JSON
/// reader keeps it exactly. A function of its arguments alone, as the order is.
uint64_t blockSeed(uint64_t design_seed, const std::string& study, TrialKind kind, uint64_t number);
/// Upper bound of the seeds of commands: numpy, transformers, Lightning and scikit-learn take 32 bits, a C program
/// often an int.
inline constexpr uint64_t kCommandSeeds = uint64_t{1} << 31;
/// The seed that trials of a new block get: `block_seed`, or its upper 31 bits if the plan has a command.
uint64_t trialSeed(const Plan& plan, uint64_t block_seed);

/// `places` in the random order of a block: a Fisher-Yates shuffle with SplitMix64, seeded by the block. Where the
/// plan has services that live as long as a block, the places of one instance stand together, and instances are in
/// random order, too: a split plot, whose whole plots are instances.
std::vector<Place> blockOrder(std::vector<Place> places, uint64_t block_seed, const Plan& plan = {});

/// How much of a run is left, for its progress bar: trials to come, and their time from typical durations.
class Forecast {
 public:
  /// The index must outlive it.
  Forecast(const judge::Index& index, unsigned lanes) : index_(index), lanes_(lanes) {}
  /// Counts anew what the plan lacks; called at the beginning of each block, since it costs a walk over the plan.
  void renew();
  /// Expects one trial of the kind less, since it has a result.
  void placeOver(TrialKind kind);
  /// Sets done, expected, remaining_seconds and untimed of `note`. `done`: trials with a result before this one;
  /// `over`: this one has a result, too. The time is divided by the number of lanes.
  void fill(TrialNote& note, unsigned done, bool over) const;

 private:
  struct Left {
    uint64_t trials = 0;
    std::optional<double> seconds_each;
  };
  const judge::Index& index_;
  const unsigned lanes_;
  std::map<TrialKind, Left> left_;
};

// Texts about what a run did not get, one line each, for the person who watches it.

/// How many trials did not end well, and which points lack trials: "18 of 33 trials failed; timed n=3 has 0 of 6 (no
/// licence server)". "" if nothing lacks trials.
std::string shortfallText(const judge::Index& index);

/// "every criterion is decided at the look after 8 of 20 timed repetitions"; "" if no interim analysis ended the run.
std::string endedAtLookText(const judge::Index& index);
/// Says how many trials are stored of a study that wants no more, timeouts included.
std::string storedText(const judge::Index& index);

/// "timed n=3: no licence server".
std::string failureText(const judge::Index& index, const judge::Failure& failure);

}  // namespace expc::engine
