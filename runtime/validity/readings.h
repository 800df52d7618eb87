#pragma once

// Readings: what was seen of a machine while a trial ran; and the rules that judge them. Readings are kept with the
// trial as part of its environment, so that they can be shown, and judged again, later. docs/validity.md has the
// limits.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/validity.h"

namespace expc::base {
class JsonRecord;
}

namespace expc::validity {

/// Bits of nvmlClocksThrottleReasons (nvml.h) that count as throttling: hardware slowdown 0x8, thermal slowdown by
/// software 0x20 and hardware 0x40, power brake 0x80. A power limit that the owner has set (0x4) is none of them.
inline constexpr uint64_t kThrottles = 0x8 | 0x20 | 0x40 | 0x80;

/// Readings of one GPU of a trial.
struct GpuReadings {
  unsigned index = 0;
  unsigned looks = 0, throttled = 0;         // number of looks, and of those in which it was throttled
  uint64_t reasons = 0;                      // all reasons that were seen, as bits of kThrottles
  unsigned clock_most = 0, clock_least = 0;  // MHz while it worked; 0: it was not seen working
  unsigned celsius_most = 0;
  double watts_most = 0;
  std::optional<double> joules;        // energy in joules
  std::optional<uint64_t> ecc_errors;  // memory errors that were not corrected
  std::vector<std::string> others;     // processes that are not ours: "1234 (python3)"
  bool operator==(const GpuReadings&) const = default;
};

/// Samples of a trial, one a second, for metrics that ask for them. They are no part of what is kept as readings.
struct Samples {
  std::vector<double> host;    // bytes of all its processes on this machine
  std::vector<double> device;  // bytes of its processes on the device where they hold most
  std::vector<double> busy;    // share of the last moments in which a device ran something, mean over devices
  /// The largest sample of the device memory of a service, in bytes, by the trial's metric.
  std::map<std::string, double> served;
  bool operator==(const Samples&) const = default;
  /// The samples of a metric (plan::kHostMemory, …); empty if nothing was sampled.
  const std::vector<double>& of(std::string_view metric) const;
};

/// Readings of a trial; what a machine does not tell is absent.
struct Readings {
  double seconds = 0;                    // from the first look to the last
  std::optional<double> other_cpu;       // share of the trial's cores that others took, or a virtual machine's host
  std::vector<std::string> busy_others;  // examples of processes on these cores: "1234 (cc1plus)"
  std::optional<double> load;            // load average of the machine at the start
  std::optional<uint64_t> swapped;       // bytes, whole machine
  std::optional<uint64_t> page_faults;   // major page faults (from disk), whole machine
  std::optional<double> pressure;        // share of the time in which some task waited for memory
  std::optional<double> mhz_most, mhz_least;  // mean clock of its cores, extremes over looks
  std::optional<double> joules;               // energy of the processors; only if the trial ran alone
  std::vector<GpuReadings> gpus;
  Samples samples;
  bool operator==(const Readings&) const = default;
};

/// The energy of a trial in joules: of its cards, or of the processors for a trial without cards. Absent if it is not
/// known for each card, or if no counter moved: counters move in steps of up to 100 ms, and no trial takes no energy.
std::optional<double> energyOf(const Readings& readings);

/// Combines the readings of one trial on two machines: the worse of shares, the sum of counts and energies.
Readings together(const Readings& one, const Readings& other);

/// The fields as JSON, for a trial's environment and an agent's reports.
void describe(base::JsonRecord& io, Readings& readings);

/// A limit that a trial exceeds.
struct Flag {
  std::string_view limit;  // name of the limit
  std::string text;        // "other processes took 48 % of its cores (5 % allowed): 1234 (cc1plus)"
};

/// The reading that a limit is about, in the limit's unit; the worst over cards. Absent if there is no such reading.
std::optional<double> valueOf(const Readings& readings, std::string_view limit);

/// Whether the limit is about cards. Such limits have defaults, so they hold even if a study does not set them.
bool isOfCards(std::string_view limit);

/// The limits that the readings exceed, in the order of plan::kLimits. A missing reading exceeds nothing.
std::vector<Flag> judge(const Readings& readings, const plan::Validity& validity);

/// The reason of an invalid trial: "disturbed: …; …".
std::string disturbedText(const std::vector<Flag>& flags);

/// The bits of kThrottles in words: "heat, by the driver, power brake".
std::string throttleText(uint64_t reasons);

}  // namespace expc::validity
