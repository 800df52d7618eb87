#pragma once

// How a trial ends, decided from what a launcher reports and from the time. It does nothing itself, so tests move the
// clock.

#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/launch/launcher.h"
#include "runtime/store/records.h"

namespace expc::engine::launch {

/// What the store keeps, but for the environment, to which more is added first. `seconds` are those from its start to
/// the end of its last rank.
struct TrialEnd : store::TrialResult {
  TrialEnd() { status = store::TrialStatus::Failed; }
  llvm::json::Object environment;
  std::optional<plan::Rehearsed> rehearsed;    // of a rehearsal that is valid
  std::optional<validity::Readings> readings;  // of all its nodes together
  std::vector<int> stuck;                      // processes of it that do not die
};

class TrialWatch {
 public:
  /// `request` must outlive it; `now` is the boot time of the trial's start.
  TrialWatch(const TrialRequest& request, double now);

  void take(RankReport report);
  /// The user, or who lends the machine, wants an end. One that has ended well before is not touched; one that was
  /// about to fail is interrupted, since the same signal may have ended it.
  void interrupt();
  /// A rank's log has grown beyond what is kept.
  void flooded(unsigned rank);

  enum class Next {
    Wait,  // until wakeAt() or a report
    Kill,  // what is left of it, once; its exits are still waited for
    Ended  // end() says how
  };
  /// To be asked with everything taken that had happened before `now` was looked up.
  Next judge(double now);
  double wakeAt() const;
  /// It is about to be killed, or was.
  bool isStopping() const { return stopping_; }

  /// After Next::Ended, once: everything but the tail of the log, which is that of `blamed()`.
  TrialEnd end();
  /// The rank whose log tells why the trial failed.
  unsigned blamed() const { return blamed_; }
  /// Whether a worker's process ended by itself without a message on its event pipe: its log may have one. If somebody
  /// killed it, its log does not say so.
  bool endedSilently() const { return silent_; }

 private:
  /// Why a trial fails. Of several reasons the weightiest is told, then the first: when one rank dies the others
  /// complain about it.
  enum class Weight {
    None,
    LostOthers,  // an event `failed` that says so
    SaidFailed,  // any other
    BadExit,     // exit code not 0 and not a word
    Nonsense,    // a line that is no event
    Signal,
    OutOfMemory
  };
  struct Rank {
    Weight weight = Weight::None;
    unsigned complained = 0;  // the how-manieth complaint this is
    std::string reason;
    bool said = false;   // in its own words
    bool named = false;  // its reason names it
    bool exited = false;
    bool killed = false;  // by SIGKILL
    bool had_result = false;
  };

  void complain(Rank& rank, Weight weight, std::string reason, bool said = false, bool named = false);
  void takeEvent(Rank& rank, RankReport& report);
  void takeExit(Rank& rank, const RankReport& report);
  bool allExited() const;
  unsigned worst() const;
  void stop(store::TrialStatus status, std::string reason, unsigned rank = 0);
  void settleFailure();
  void takeResult();
  void judgeTime(double now);
  std::string nameOf(unsigned rank) const;
  double settleUntil() const;  // once there is trouble
  double teardownSeconds() const;

  const TrialRequest& request_;
  const double started_;
  std::vector<Rank> ranks_;
  std::optional<plan::Event> result_;
  std::vector<plan::Note> notes_;
  TrialEnd end_;
  bool stopping_ = false, kill_said_ = false;
  std::optional<std::string> lost_;  // why the launch server is gone
  bool silent_ = false;
  unsigned blamed_ = 0, away_ = 0, complaints_ = 0;
  double deadline_, last_look_, last_exit_ = 0;
  std::optional<double> trouble_since_, teardown_until_;
};

}  // namespace expc::engine::launch
