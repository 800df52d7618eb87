#pragma once

// The interface of launchers, which start the ranks of a trial and report what becomes of them. A launcher knows no
// statistics and no store, and decides nothing: how a trial ends is decided by TrialWatch from the reports. Its
// messages are also what engine and agents send each other. docs/how-to-add-a-launcher.md writes a launcher.

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/protocol/trial.h"
#include "runtime/validity/readings.h"

namespace expc::engine::launch {

/// Upper bound of a trial's ranks, against nonsense in messages between engine and agents.
inline constexpr unsigned kMostRanks = 1 << 16;

/// Receives messages for the user, one line each.
using Say = std::function<void(std::string)>;

/// The processes to start for a trial, on one node or several.
struct TrialRequest {
  protocol::TrialSpec spec;
  std::vector<std::vector<std::string>> environment;  // by rank: "NAME=value"
  std::string log_prefix;                             // rank r logs to PREFIX.r.log
  double timeout_seconds = 0;                         // TrialWatch enforces it; a launcher ends no trial by itself
  /// The nodes that the trial runs on, for launchers with several nodes. Its ranks are divided into equal parts in rank
  /// order, one for each node.
  std::vector<unsigned> nodes = {0};
  unsigned first_rank = 0;  // first rank to be started here; others run on other nodes
  unsigned ranks = 0;       // number of ranks to be started here; 0: all from `first_rank` on

  unsigned endRank() const { return ranks == 0 ? spec.world_size : first_rank + ranks; }
  std::string log(unsigned rank) const { return log_prefix + "." + std::to_string(rank) + ".log"; }
};
/// The fields as JSON, for an agent; without those that only the engine needs.
void describe(JsonRecord& io, TrialRequest& request);

/// An observation of a launcher about a rank, or about the whole trial.
struct RankReport {
  enum class What {
    Started,   // the rank has the process `pid`
    Said,      // the rank sent `event`
    Nonsense,  // the rank wrote a line that is no event, as `text` says; later lines are not reported
    Exited,    // the rank ended with `status`; all that it said was reported before
    Readings,  // for the trial: `readings`, before its last exit, if the launcher watches its machines
    Lost       // of the whole trial: the launcher lost it, and nothing of it runs any more but what is `stuck`; `text`
               // says why
  } what = What::Started;
  using enum What;
  uint64_t trial = 0;  // as `start` returned it
  unsigned rank = 0;
  int pid = 0;
  protocol::Event event = {};
  std::string text = {};
  int status = 0;  // as from waitpid
  /// For Exited: the evidence that the kernel killed a process of this rank for lack of memory; "": it did not.
  std::string out_of_memory = {};
  std::vector<int> stuck = {};  // Exited, Lost: killed processes that do not die; they keep its devices
  double at = 0;                // boot time: an exit's own, else when it was seen
  std::optional<validity::Readings> readings = std::nullopt;
  bool with_node = false;  // Lost: the node was lost, too, which says nothing about the trial
};
/// The fields as JSON, for an agent's reports.
void describe(JsonRecord& io, RankReport& report);

/// Name and size of a launcher.
struct LauncherDescription {
  std::string name;    // "local", for messages
  unsigned lanes = 1;  // trials that it runs at once, on all its nodes together
};

/// Seconds after which events() returns at the latest, so that callers can attend to other things.
inline constexpr double kLongestWait = 1;

/// Starts, reports and kills. Not thread-safe: one thread calls it.
class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual LauncherDescription describe() const = 0;

  /// Starts the ranks and returns the number by which reports name the trial; numbers are never given twice. Errors are
  /// those of the environment (no descriptors, no log file, no worker); nothing of the trial runs then.
  virtual Expected<uint64_t> start(const TrialRequest& request) = 0;

  /// Waits for something to report until the boot time `until`, or until the descriptor `wake` is readable (-1: none),
  /// and returns the reports. Everything that had happened before the call is among them. The call returns soon even if
  /// a rank writes without end. After the last rank's exit, or Lost, no report names the trial again. The error is one
  /// that cannot be mended.
  virtual Expected<std::vector<RankReport>> events(double until, int wake) = 0;

  /// Kills what is left of a trial. The exits of its ranks are reported as usual, or the trial is lost. An unknown
  /// number is ignored.
  virtual void kill(uint64_t trial) = 0;
  /// Lets a service or another command end, which may still say where it was: the exits of its ranks are reported as
  /// usual. An unknown number is ignored.
  virtual void stop(uint64_t trial) { kill(trial); }

  /// Why nothing can be started on a node any more, for example "n3 was lost: …"; "" if it can.
  virtual std::string lost(unsigned node) const {
    (void)node;
    return {};
  }
};

/// Turns the bytes of a rank's event pipe into reports; for launchers.
class EventLines {
 public:
  /// Takes the next bytes and returns the reports of all lines that are complete. Only `what`, `event` and `text` are
  /// set. After nonsense nothing is read any more.
  std::vector<RankReport> add(std::string_view bytes);
  /// Returns the report of a last line without a newline; for the end of the pipe.
  std::vector<RankReport> end() { return rest_.empty() ? std::vector<RankReport>() : add("\n"); }

 private:
  std::string rest_;
  bool over_ = false;  // nonsense was seen, so the rest is not worth reading
};

}  // namespace expc::engine::launch

namespace expc {
using engine::launch::Launcher, engine::launch::TrialRequest;
}
