#pragma once

// Watches this machine before, during and after trials, of which several may be under way: who else uses their cores
// and cards, memory shortage, clocks, energy. The launcher calls it at each start and end and every second in between.
// It collects readings and judges nothing (readings.h does).
//
// Other processes' share of the cores is what the cores did, less what our own processes took, so no list of processes
// has to be watched.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/validity/host.h"
#include "runtime/validity/readings.h"

namespace expc::validity {

/// The watch over the trials of one launcher. Not thread-safe; costs about a millisecond for each look.
class Monitor {
 public:
  /// All trials descend from the process `pid`. `root` is put before /proc and /sys, for tests.
  Monitor(Cards cards, int pid, std::string root = "");

  /// A trial is about to start on these cores and cards (NVML indices). `now`: seconds by a clock that nobody sets.
  /// `served`: services of the trial are up already, and may be on its cards.
  void begin(uint64_t trial, std::vector<int> cores, const std::vector<unsigned>& cards, double now,
             bool served = false);
  /// From now on the descendants of the process are sampled as a part of the trial.
  void sample(uint64_t trial, int pid);
  /// Samples the device memory of the process `pid` and its descendants as the trial's metric from now on.
  void serve(uint64_t trial, const std::string& metric, int pid);
  /// Looks at the machine on behalf of all trials under way; to be called about once a second.
  void look(double now);
  /// The trial is over: returns its readings; empty ones for an unknown trial.
  Readings end(uint64_t trial, double now);
  /// Whether trials are under way and the last look is a second old.
  bool isDue(double now) const { return !trials_.empty() && now - at_ >= 1; }

 private:
  /// A GPU of a trial.
  struct Card {
    GpuReadings readings;
    CardState before;
    std::optional<CardState> now;  // at the last look
    std::vector<int> others;
    bool sees_ours = false;  // NVML named a process of ours, so it uses our process numbers
    /// Processes on it that are not of our family, as NVML numbers them.
    std::vector<int> unknown;
  };
  struct Trial {
    std::vector<int> cores;
    std::vector<Card> cards;
    double began = 0;
    MemoryCounts before;
    std::vector<int> sampled;            // processes whose families are sampled
    std::map<std::string, int> serving;  // processes of services by the metric of their device memory
    std::optional<double> joules_before;
    bool alone = true;  // no other trial was under way at the same time
    Readings readings;
    double core_seconds = 0, others_seconds = 0;
    bool accounted = true;  // the share of others was known at each look
  };

  /// Reads the counts of memory. That is cheap, so it is done at the end of each trial, however short.
  void count(double now);
  /// Adds to each trial what others took since the last look.
  void account(const std::map<int, double>& busy, const Family& family, double seconds);
  /// Reads the clocks of a trial's cores.
  void readClocks(Trial& trial);
  /// Takes a sample of the device memory of the trial's services.
  void sampleServices(Trial& trial) const;
  /// Adds a sample of the trial's processes, unless none runs any more.
  void takeSample(Trial& trial) const;
  /// Adds one look at a GPU to its readings; `now` is absent if the GPU did not answer.
  static void take(Card& card, const std::optional<CardState>& now, const Family& family);
  /// Turns the counts of a trial that is over into its readings.
  void settle(Trial& trial, double now) const;

  const Cards cards_;
  const int pid_;
  const std::string root_;
  std::map<uint64_t, Trial> trials_;
  std::map<int, double> busy_;
  MemoryCounters counters_;
  MemoryCounts memory_;
  std::optional<double> load_;
  Family family_;
  bool looked_ = false;
  // False once a core told no clock, or the processors no energy: a machine gets none while we run.
  bool has_clocks_ = true, has_energy_ = true;
  double at_ = 0, counted_ = -1;  // times of the last look, and of the last count of memory
};

}  // namespace expc::validity
