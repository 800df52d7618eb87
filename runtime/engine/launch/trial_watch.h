#pragma once

// Decides how one trial ends, from the reports of a launcher and from the time. It reads no clock and does nothing
// itself, so tests can move time and invent reports.
//
// When a rank dies, the other ranks complain about their lost connection, often before the dead rank is noticed. So the
// first complaint is not believed at once: the watch waits a moment, weighs all complaints and blames the weightiest
// (Weight).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/launch/launcher.h"
#include "runtime/store/records.h"

namespace expc::engine::launch {

/// How a trial ended, as the store keeps it; the environment is added by the caller, which knows more of it. `seconds`
/// is the time from the trial's start to the end of its last rank.
struct TrialEnd : store::TrialResult {
  TrialEnd() { status = TrialStatus::Failed; }
  json::Object environment;
  std::optional<protocol::Rehearsed> rehearsed;  // set for a rehearsal that is valid
  std::optional<validity::Readings> readings;    // of all nodes together; absent: the launcher has none
  std::vector<int> stuck;                        // processes of the trial that do not die
  bool host_memory = false;                      // infeasible: the host's memory ran out, not a device's
};

/// The state of one trial under way. Call take() with each report, judge() after each wait, and end() once.
class TrialWatch {
 public:
  /// `request` must outlive it; `now` is the boot time of the trial's start.
  TrialWatch(const TrialRequest& request, double now);

  /// Takes a report about this trial.
  void take(RankReport report);
  /// The user, or the owner of the machine, wants an end. A trial that ended well before stays valid. One that was
  /// about to fail counts as interrupted, since the same signal may have ended its ranks.
  void interrupt();
  /// The trial cannot go on, for a reason of its caller's.
  void fail(TrialStatus status, std::string reason) { stop(status, std::move(reason)); }
  /// A rank's log exceeds the limit: the trial fails.
  void flooded(unsigned rank);

  /// The next step of the caller.
  enum class Next {
    Wait,  // until wakeAt() or the next report
    Ask,   // tell the trial's ranks to end, so that they say where they are; said once, before Kill
    Kill,  // kill the trial's ranks; said once, and their exits are still awaited
    Ended  // call end()
  };
  /// Says what to do at the boot time `now`. Every report of what happened before `now` must have been taken.
  Next judge(double now);
  /// The boot time at which judge() must be asked again if no report comes.
  double wakeAt() const;
  /// Whether the trial is about to be killed, or was.
  bool isStopping() const { return stopping_; }

  /// How the trial ended, without the tail of the log, which is that of blamed(). Call it once, after Next::Ended.
  TrialEnd end();
  /// The rank whose log tells best why the trial failed.
  unsigned blamed() const { return blamed_; }
  /// Whether the blamed process ended by itself without a message on its event pipe, so that its log may have one. If
  /// SIGKILL ended it, the log says nothing about it.
  bool endedSilently() const { return silent_; }

 private:
  /// How much a complaint tells about the cause, ascending. The weightiest complaint is the reason of the failure;
  /// among equal ones the first.
  enum class Weight {
    None,
    LostOthers,  // the rank said that it lost the others
    SaidFailed,  // the rank said another reason
    BadExit,     // an exit code other than 0, without a message
    Nonsense,    // a line that is no event
    Signal,
    OutOfMemory
  };
  /// The state of one rank and its weightiest complaint.
  struct Rank {
    Weight weight = Weight::None;
    unsigned complained = 0;  // sequence number of the complaint
    std::string reason;
    bool said = false;   // the reason is in the rank's own words
    bool named = false;  // its reason names it
    bool exited = false;
    bool killed = false;  // ended by SIGKILL
    bool had_result = false;
  };

  /// Notes a complaint if it is weightier than the rank's former one.
  void complain(Rank& rank, Weight weight, std::string reason, bool said = false, bool named = false);
  void takeEvent(Rank& rank, RankReport& report);
  void takeExit(Rank& rank, const RankReport& report);
  bool allExited() const;
  unsigned worst() const;
  /// Decides how the trial ends; the first call counts. `rank` is blamed.
  void stop(TrialStatus status, std::string reason, unsigned rank = 0);
  void weighComplaints();
  void takeResult();
  void noteDiverged(const std::string& what, double value);
  void judgeTime(double now);
  std::string nameOf(unsigned rank) const;
  double weighedAt() const;  // boot time at which complaints are weighed
  double teardownSeconds() const;

  const TrialRequest& request_;
  const double started_;
  std::vector<Rank> ranks_;
  std::optional<protocol::Event> result_;
  std::vector<plan::Note> notes_;
  TrialEnd end_;
  bool stopping_ = false, asked_ = false, kill_said_ = false;
  std::optional<double> answers_until_;  // boot time until which ranks may say where they are
  std::map<unsigned, std::string> places_;
  std::optional<std::string> lost_;  // why the launcher lost the trial
  bool silent_ = false;
  unsigned blamed_ = 0, away_ = 0, complaints_ = 0;
  /// Boot times. `deadline_` is the trial's limit; `teardown_until_` is set with rank 0's result.
  double deadline_, last_look_, last_exit_ = 0;
  std::optional<double> trouble_since_, teardown_until_;
};

/// The values of the rows of a result.
std::map<std::string, store::Values> rowsOf(const protocol::Event& result);

}  // namespace expc::engine::launch

namespace expc {
using engine::launch::TrialEnd;
}
