#pragma once

// What starts the ranks of a trial and tells what becomes of them. It knows no statistics and no store, and decides
// nothing: how a trial ends is TrialWatch's business. docs/how-to-add-a-launcher.md writes another one.

#include <llvm/Support/Error.h>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/json_record.h"
#include "runtime/protocol/trial.h"
#include "runtime/validity/readings.h"

namespace expc::engine::launch {

/// How many ranks a trial has at most, of those that a node is told.
inline constexpr unsigned kMostRanks = 1 << 16;

/// Gets what a user should be told, a line at a time.
using Say = std::function<void(std::string)>;

struct TrialRequest {
  protocol::TrialSpec spec;
  std::vector<std::vector<std::string>> environment;  // "NAME=value" for each rank
  std::string log_prefix;                             // rank r logs to PREFIX.r.log
  double timeout_seconds = 0;                         // for TrialWatch; a launcher does not end a trial by itself
  /// The nodes that it runs on, where the launcher has several: of so many equal parts of its ranks each has one, in
  /// their order.
  std::vector<unsigned> nodes = {0};
  unsigned first_rank = 0;  // of those that are started here; the others are on other nodes
  unsigned ranks = 0;       // how many are started here; 0: all from `first_rank` on

  unsigned endRank() const { return ranks == 0 ? spec.world_size : first_rank + ranks; }
  std::string log(unsigned rank) const { return log_prefix + "." + std::to_string(rank) + ".log"; }
};
/// A trial's ranks on one node; without what only the engine needs.
void describe(base::JsonRecord& io, TrialRequest& request);

/// One thing that a launcher saw of a rank.
struct RankReport {
  enum class What {
    Started,   // it has a process: `pid`
    Said,      // `event`
    Nonsense,  // it wrote a line that is no event: `text` says which and why. Nothing more that it says is reported
    Exited,    // it is gone, with `status`, and all that it said was reported before
    Readings,  // of the whole trial, before its last exit: `readings`, where the launcher looks at its machines
    Lost       // of the whole trial: the launcher lost it, and nothing of it runs any more but what is `stuck`; `text`
               // says why
  } what = What::Started;
  uint64_t trial = 0;  // as `start` returned it
  unsigned rank = 0;
  int pid = 0;
  protocol::Event event = {};
  std::string text = {};
  int status = 0;  // as from waitpid
  /// Exited: how it is known that the kernel killed a process of this rank for memory; "": it did not.
  std::string out_of_memory = {};
  std::vector<int> stuck = {};  // Exited, Lost: processes of it that were killed and do not die; they keep its devices
  double at = 0;                // boot time: of an exit when it happened, else when it was seen
  std::optional<validity::Readings> readings = std::nullopt;
  bool with_node = false;  // Lost: together with the node that it ran on, which says nothing of the trial
};
void describe(base::JsonRecord& io, RankReport& report);

struct LauncherDescription {
  std::string name;    // "local", for messages
  unsigned lanes = 1;  // how many trials it runs at once, on all its nodes
};

/// For how many seconds a launcher waits at most before it looks at its ranks again.
inline constexpr double kLongestWait = 1;

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual LauncherDescription describe() const = 0;

  /// Starts the ranks; returns a number by which reports name the trial, never given twice. The error is the
  /// environment's (no descriptors, no log file, no worker), and nothing was started then.
  virtual llvm::Expected<uint64_t> start(const TrialRequest& request) = 0;

  /// Waits for something to report until the boot time `until`, or until the descriptor `wake` is readable (-1: none).
  /// Everything that had happened when it was called is in what it returns; it returns soon even where a rank writes
  /// without end. After the last rank has exited, or was lost, no report names the trial. The error says what cannot be
  /// mended.
  virtual llvm::Expected<std::vector<RankReport>> events(double until, int wake) = 0;

  /// Kills what is left of a trial; its ranks' exits are reported as always, or it is lost.
  virtual void kill(uint64_t trial) = 0;

  /// Why nothing can be started on a node any more: "n3 was lost: …"; "" where it can.
  virtual std::string lost(unsigned node) const {
    (void)node;
    return {};
  }
};

/// What a rank writes on its event pipe, from bytes to reports. For launchers.
class EventLines {
 public:
  /// The reports of whole lines in what was written so far; only `what`, `event` and `text` are set. After nonsense
  /// nothing is read any more.
  std::vector<RankReport> add(std::string_view bytes);
  /// The same of a last line that was cut, once nothing more can come.
  std::vector<RankReport> end() { return rest_.empty() ? std::vector<RankReport>() : add("\n"); }

 private:
  std::string rest_;
  bool over_ = false;  // nonsense was seen: who writes on is not worth reading
};

}  // namespace expc::engine::launch
