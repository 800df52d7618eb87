#pragma once

// Looks at this machine before, during and after trials, several of which may be under way.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/validity/host.h"
#include "runtime/validity/readings.h"

namespace expc::validity {

class Monitor {
 public:
  /// `pid`: the process from which all trials descend. `root`: before /proc and /sys.
  Monitor(Cards cards, int pid, std::string root = "");

  /// A trial is about to start on these cores and cards. `now`: seconds by a clock that nobody sets.
  void begin(uint64_t trial, std::vector<int> cores, const std::vector<unsigned>& cards, double now);
  /// To be called each second or so.
  void look(double now);
  /// The trial is over.
  Readings end(uint64_t trial, double now);
  /// Whether a trial is under way that was not looked at for a second.
  bool isDue(double now) const { return !trials_.empty() && now - at_ >= 1; }

 private:
  struct Card {
    GpuReadings readings;
    CardState before;
    std::vector<int> others;
    bool sees_ours = false;  // it names processes by the numbers that we know
    std::vector<int> unknown;
  };
  struct Trial {
    std::vector<int> cores;
    std::vector<Card> cards;
    double began = 0;
    MemoryCounts before;
    std::optional<double> joules_before;
    bool alone = true;  // no other trial was under way beside it
    Readings readings;
    double core_seconds = 0, others_seconds = 0;
    bool accounted = true;  // what others took could be told in each look
  };

  /// What memory was asked for is read of each trial, however short: it is cheap, and nobody else's.
  void count(double now);
  void account(const std::map<int, double>& busy, const Family& family, double seconds);
  void lookAt(Trial& trial, const Family& family);
  static void take(Card& card, const CardState& state, const Family& family);
  void settle(Trial& trial) const;

  const Cards cards_;
  const int pid_;
  const std::string root_;
  std::map<uint64_t, Trial> trials_;
  std::map<int, double> busy_;
  MemoryCounts memory_;
  std::optional<double> load_;
  Family family_;
  bool looked_ = false, has_clocks_ = true;  // machines without clocks of cores get none while we run
  double at_ = 0, counted_ = -1;             // when it was looked at, and when memory was
};

}  // namespace expc::validity
