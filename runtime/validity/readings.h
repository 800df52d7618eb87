#pragma once

// What was seen of a machine while a trial ran, which is kept with the trial, and whether it lets that count.

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

/// NVML's reasons for which a card's clocks are held down by heat or by what its power supply can give. A limit of
/// power that its owner has set is none of them.
inline constexpr uint64_t kThrottles = 0x8 | 0x20 | 0x40 | 0x80;

/// Of one card of a trial.
struct GpuReadings {
  unsigned index = 0;
  unsigned looks = 0, throttled = 0;         // how often it was looked at, and held down then
  uint64_t reasons = 0;                      // all for which it was, as NVML's bits
  unsigned clock_most = 0, clock_least = 0;  // MHz, while it worked; 0: it was not seen to
  unsigned celsius_most = 0;
  double watts_most = 0;
  std::optional<double> joules;        // that it took
  std::optional<uint64_t> ecc_errors;  // that could not be corrected
  std::vector<std::string> others;     // processes that are not ours: "1234 (python3)"
  bool operator==(const GpuReadings&) const = default;
};

/// Of a trial. What a machine does not tell is absent.
struct Readings {
  double seconds = 0;                    // from the first look to the last
  std::optional<double> other_cpu;       // share of the trial's cores that others took, the host of a guest among them
  std::vector<std::string> busy_others;  // some that were seen on these cores: "1234 (cc1plus)"
  std::optional<double> load;            // the machine's, when it began
  std::optional<uint64_t> swapped;       // bytes, of the machine
  std::optional<uint64_t> page_faults;   // that read from a disk, of the machine
  std::optional<double> pressure;        // share of the time in which somebody waited for memory
  std::optional<double> mhz_most, mhz_least;  // of its cores: the mean at each look
  std::optional<double> joules;               // that the processors took, of a trial that ran alone
  std::vector<GpuReadings> gpus;
  bool operator==(const Readings&) const = default;
};

/// The joules of a trial: of its cards, or of one on cores of the processors. Nothing where they are not known of each,
/// or no counter moved: these move in steps of up to 100 ms, and nothing takes no energy.
std::optional<double> energyOf(const Readings& readings);

/// Of one trial, on two machines: the worst of each share, the sum of what is counted.
Readings together(const Readings& one, const Readings& other);

void describe(base::JsonRecord& io, Readings& readings);

/// A limit that a trial lies above.
struct Flag {
  std::string_view limit;  // its name
  std::string text;        // "other processes took 48 % of its cores (5 % allowed): 1234 (cc1plus)"
};

/// What the readings say of a limit, in its unit; nothing where they do not.
std::optional<double> valueOf(const Readings& readings, std::string_view limit);

/// Whether it says something of a trial that has cards: these limits hold also where a study does not set them.
bool isOfCards(std::string_view limit);

/// The limits that the readings lie above, in the order of plan::kLimits. A reading that is not there disturbs nothing.
std::vector<Flag> judge(const Readings& readings, const plan::Validity& validity);

/// "disturbed: …; …".
std::string disturbedText(const std::vector<Flag>& flags);

/// "thermal slowdown, power brake": what NVML's bits of kThrottles stand for.
std::string throttleText(uint64_t reasons);

}  // namespace expc::validity
