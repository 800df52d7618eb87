#pragma once

// Decides what runs next, and how much is left: functions of the index and of the blocks under way. They start nothing
// and read no clock.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/analysis/index.h"
#include "runtime/engine/progress.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::engine {

/// The next thing for a lane.
struct Step {
  enum class What {
    Trial,      // `place` of the lane's block, at `position`, for the `attempt`-th time
    BlockOver,  // the lane's block has no further place; said once
    Block,      // a block of `kind` with these places is to be made; see Scheduler::begin
    Wait,       // nothing until a block of another lane is over
    Done        // nothing more for this lane
  } what = What::Done;
  plan::Place place;
  unsigned position = 0, attempt = 1;
  plan::TrialKind kind = plan::TrialKind::Timed;
  std::vector<plan::Place> places;
};

/// Trials of a block run one after the other in one lane, so that nothing comes between two that are compared; each
/// lane has a block of its own. Kinds run one after the other: timed first.
class Scheduler {
 public:
  /// The index must outlive it, and hold each trial before `ended` is told of it. `attempts`: of one place in a block.
  Scheduler(const analysis::Index& index, unsigned lanes, unsigned attempts);

  Step next(unsigned lane);
  /// The lane works on this block. `before`: trials of it that an earlier run started.
  void begin(unsigned lane, store::BlockPlan block, const std::vector<store::Trial>& before = {});
  /// A trial of the lane's block has ended as its status says.
  void ended(unsigned lane, const store::Trial& trial);
  /// Whether the place of the lane's block is to be tried again.
  bool isOpen(unsigned lane, unsigned position) const;
  /// The lane's block is left as it is.
  void abandon(unsigned lane) { lanes_[lane].block.reset(); }
  /// No further block of the kind is asked for.
  void close(plan::TrialKind kind) { closed_.insert(kind); }

  /// The lane's block, or nothing.
  const store::BlockPlan* block(unsigned lane) const;
  /// Whether a block still has something to run, after these trials of it.
  bool isOpen(const store::BlockPlan& block, const std::vector<store::Trial>& before) const;

 private:
  struct Tried {
    unsigned attempts = 0, failed = 0, invalid = 0;
    bool over = false;  // it has a result
  };
  struct Lane {
    std::optional<store::BlockPlan> block;
    unsigned position = 0;
    std::vector<Tried> tried;  // by position
  };

  static void count(Tried& tried, const store::Trial& trial);
  std::vector<Tried> triedOf(const store::BlockPlan& block, const std::vector<store::Trial>& before) const;
  bool isOver(const store::BlockPlan& block, unsigned position, const Tried& tried) const;
  Step nextBlock() const;

  const analysis::Index& index_;
  const unsigned attempts_;
  std::vector<Lane> lanes_;
  std::set<plan::TrialKind> closed_;
};

/// Whether any kind still lacks trials.
bool needsTrials(const analysis::Index& index);

/// The seed of a block (order, initial weights, data order, dropout): 53 bits, so that any JSON reader keeps it. A
/// function of its arguments alone, as the order is.
uint64_t blockSeed(uint64_t design_seed, const std::string& study, plan::TrialKind kind, uint64_t number);
/// Seeds of commands lie below it: numpy, transformers, Lightning and scikit-learn take 32 bits, a C program an int.
inline constexpr uint64_t kCommandSeeds = uint64_t{1} << 31;
/// The seed that trials of a new block get: blockSeed's, or its first 31 bits if the plan has a command.
uint64_t trialSeed(const plan::Plan& plan, uint64_t block_seed);

/// `places` in the order of a block (Fisher and Yates, from the block's seed).
std::vector<plan::Place> blockOrder(std::vector<plan::Place> places, uint64_t block_seed);

/// How much of a run is left, for its progress.
class Forecast {
 public:
  /// The index must outlive it.
  Forecast(const analysis::Index& index, unsigned lanes) : index_(index), lanes_(lanes) {}
  /// Looks at the whole plan again: at the beginning of each block.
  void renew();
  /// A place of a block is over.
  void placeOver(plan::TrialKind kind);
  /// Fills in what is left, for a trial after which or during which `done` others are over. `over`: it is itself.
  void fill(TrialNote& note, unsigned done, bool over) const;

 private:
  struct Left {
    uint64_t trials = 0;
    std::optional<double> seconds_each;
  };
  const analysis::Index& index_;
  const unsigned lanes_;
  std::map<plan::TrialKind, Left> left_;
};

// What is not there at the end of a run, and why, in a line for who watches it.

/// How many trials did not end well, and where what: "18 of 33 trials failed: n=3 in 9 blocks (exit code 1)"; "" if
/// nothing lacks trials.
std::string shortfallText(const analysis::Index& index);

/// "every criterion is decided at the look after 8 of 20 timed repetitions"; "" where none ended so.
std::string endedAtLookText(const analysis::Index& index);

/// "timed n=3: no licence server".
std::string failureText(const analysis::Index& index, const analysis::Failure& failure);

}  // namespace expc::engine
