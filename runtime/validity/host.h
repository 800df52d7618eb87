#pragma once

// Reads what this machine tells about itself at a moment: /proc and /sys (proc(5), sysfs), and for GPUs NVIDIA's
// management library (NVML), loaded at run time. Without NVML there are no cards. In tests `root` is a folder of files
// that stands for /.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/nvml.h"
#include "runtime/base/process.h"

namespace expc::validity {

/// Seconds that each core was busy since boot, or was taken by the host of a virtual machine. Counts here and below
/// only grow, so callers take differences.
std::map<int, double> readBusy(const std::string& root = "");

/// Counts of memory shortage since boot; absent if the kernel does not tell.
struct MemoryCounts {
  std::optional<uint64_t> swapped_pages, page_faults;
  std::optional<double> pressure;  // seconds in which some task waited for memory (PSI)
};
/// Reads them for each trial, so its files stay open.
class MemoryCounters {
 public:
  explicit MemoryCounters(const std::string& root = "");
  MemoryCounts read();

 private:
  base::KernelFile pages_, pressure_;
};
/// Energy of all processors in joules, by the RAPL counters. They overflow after some hours, so a smaller sum than
/// before says nothing. Absent if there are none or they may not be read (usually only by root).
std::optional<double> readEnergy(const std::string& root = "");
/// The load average over one minute.
std::optional<double> readLoad(const std::string& root = "");
/// The mean clock rate of these cores in MHz; absent if a core does not tell its own.
std::optional<double> readClock(const std::vector<int>& cores, const std::string& root = "");

using base::Family;

/// Bytes of memory of these processes together. A page that several share counts once (PSS); where the kernel does not
/// tell, resident pages count for each.
uint64_t memoryOf(const Family& family, const std::string& root = "");

/// Processes outside of `family` that run on one of `cores` at this moment, at most three: "1234 (cc1plus)".
std::vector<std::string> runningOthers(const std::vector<int>& cores, const Family& family,
                                       const std::string& root = "");

/// A process for people: "1234 (cc1plus)", or "1234" if it cannot be seen.
std::string processText(int pid, const std::string& root = "");

/// A GPU at a moment.
struct CardState {
  uint64_t reasons = 0;  // why its clocks are held down: bits nvmlClocksThrottleReason… of nvml.h
  bool working = false;  // it is not idle
  unsigned clock_mhz = 0, celsius = 0;
  double watts = 0;
  std::optional<double> joules;        // since the driver was loaded
  std::optional<uint64_t> ecc_errors;  // memory errors since then that were not corrected
  std::vector<int> processes;          // processes that use it, in the numbers that NVML knows
  std::map<int, uint64_t> memory;      // bytes that these hold
  std::optional<uint64_t> used;        // bytes that are held by anything
  std::optional<double> busy;          // share of the last moments in which it ran something
};

/// Settings that the owner of the machine has made.
struct CardSettings {
  std::optional<bool> persistence;
  std::optional<double> power_limit, power_default;  // watts
};

/// The GPUs of this machine, as NVML sees them. Not thread-safe.
class Cards {
 public:
  /// `library` is the path of NVML; "" for no cards. `environment` has the variables of null cards ("NULLGPU_…=…").
  /// Their library reads them when it is first asked, so they are set for that moment, and it then sees what the
  /// workers do.
  explicit Cards(const std::string& library, const std::vector<std::string>& environment = {});

  /// The state, or the settings, of the GPU with this index of NVML; nothing if it does not answer.
  std::optional<CardState> look(unsigned index) const;
  std::optional<CardSettings> settings(unsigned index) const;

 private:
  std::unique_ptr<base::Nvml> library_;
};

}  // namespace expc::validity
