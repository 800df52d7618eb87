#pragma once

// What /proc and /sys say of this machine at a moment. `root` stands before each path: a folder of files in tests.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

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

/// The text of a file without the white space at its end; nothing where it cannot be read.
std::optional<std::string> readText(const std::string& path);

}  // namespace expc::validity
