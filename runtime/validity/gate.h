#pragma once

// Whether what was seen while a trial ran lets it count. Pure.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/validity.h"
#include "runtime/validity/readings.h"

namespace expc::validity {

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
