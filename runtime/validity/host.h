#pragma once

// What this machine says of itself at a moment: /proc and /sys (`root` stands before each path: a folder of files in
// tests), and of cards NVIDIA's management library, which is loaded at run time: a machine without it has no cards.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/nvml.h"

namespace expc::validity {

/// Seconds that each core did something, or that a guest's host took it. They only grow, as do the counts below.
std::map<int, double> readBusy(const std::string& root = "");

struct MemoryCounts {
  std::optional<uint64_t> swapped_pages, page_faults;
  std::optional<double> pressure;  // seconds in which somebody waited for memory
};
MemoryCounts readMemory(const std::string& root = "");
/// What all processors took since some moment, in joules, by the counters of RAPL. These begin anew after some hours: a
/// sum that is smaller than an earlier one says nothing. Nothing where there are none, or none may be read.
std::optional<double> readEnergy(const std::string& root = "");
/// The load average of a minute.
std::optional<double> readLoad(const std::string& root = "");
/// The mean clock of these cores, in MHz.
std::optional<double> readClock(const std::vector<int>& cores, const std::string& root = "");

/// A process and all that descend from it.
struct Family {
  std::set<int> pids;
  /// What they took, and those that are gone and were waited for. Nothing where the system does not say which
  /// processes descend from one.
  std::optional<double> cpu_seconds;
};
Family familyOf(int pid, const std::string& root = "");

/// Processes outside of `family` that were running on one of `cores` at this moment: "1234 (cc1plus)", three at most.
std::vector<std::string> runningOthers(const std::vector<int>& cores, const Family& family,
                                       const std::string& root = "");

/// "1234 (cc1plus)"; "1234" of a process that cannot be seen.
std::string processText(int pid, const std::string& root = "");

struct CardState {
  uint64_t reasons = 0;  // for which its clocks are held down, as NVML's bits
  bool working = false;  // it does not idle
  unsigned clock_mhz = 0, celsius = 0;
  double watts = 0;
  std::optional<double> joules;        // since the driver was loaded
  std::optional<uint64_t> ecc_errors;  // since then, that could not be corrected
  std::vector<int> processes;          // that have it open
};

/// What its owner has set.
struct CardSettings {
  std::optional<bool> persistence;
  std::optional<double> power_limit, power_default;  // watts
};

class Cards {
 public:
  /// `library`: the path of NVML, "" for none. `environment` has the variables of null cards ("NULLGPU_…=…"), which
  /// their library reads when it is first asked, so that it sees what the workers do.
  explicit Cards(const std::string& library, const std::vector<std::string>& environment = {});

  /// Nothing of a card that does not answer.
  std::optional<CardState> look(unsigned index) const;
  std::optional<CardSettings> settings(unsigned index) const;

 private:
  std::unique_ptr<base::Nvml> library_;
};

}  // namespace expc::validity
